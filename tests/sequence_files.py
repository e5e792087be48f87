"""Files of sequences: bytes of arrays, and one sequence read from a file."""

import io

import numpy as np

from anyorder.io import sequence_files


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def header(shape):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<i8", "fortran_order": False, "shape": shape})
    return buffer.getvalue()


def read_one(path, **options):
    with sequence_files.open_sequences(path, **options) as sequences:
        return sequences.one(), sequences.alphabet_size, sequences.alphabet
