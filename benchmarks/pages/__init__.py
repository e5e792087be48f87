"""The generated parts of the documentation: claims, errata, recorded results, tables of constructions."""
