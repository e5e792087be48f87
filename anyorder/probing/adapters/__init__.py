"""Models of other frameworks as the probe reads them; each file imports its framework only when it is used."""
