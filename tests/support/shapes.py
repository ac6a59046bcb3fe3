"""Small files that could cost much: each a name and a function that writes it into a folder."""

import gzip
import io
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from support.damage import header, npy, npz

SHAPES = []


def shape(suffix):
    """Add a shape; its function returns the bytes of a file with that suffix."""

    def add(make):
        def write(folder):
            path = folder / f"{make.__name__}{suffix}"
            path.write_bytes(make())
            return path

        SHAPES.append((make.__name__, write))
        return make

    return add


def as_parquet(columns):
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream, compression="zstd")
    return stream.getvalue()


@shape(".npz")
def zeros_of_200_megabytes():
    return npz(**{"values.npy": npy(np.zeros((2_000_000, 100), np.int8))})


@shape(".csv.gz")
def csv_of_400_megabytes():
    return gzip.compress(b"0,1\n" * 2_000_000) * 50


@shape(".csv")
def columns_100_000():
    names = ",".join(f"c{j}" for j in range(100_000))
    return f"{names}\n{','.join('01' * 50_000)}\n".encode()


@shape(".csv")
def columns_100_000_one_letter():
    return b"\n".join([b",".join([b"%x" % j for j in range(100_000)]), *[b",".join([b"0"] * 100_000)] * 2])


@shape(".csv")
def half_a_million_empty_columns():
    return b"," * 450_000 + b"\n" + b"," * 450_000


@shape(".csv")
def different_words():
    return b"a\n" + b"\n".join(b"w%x" % j for j in range(150_000))


@shape(".csv")
def different_numbers():
    return b"a\n" + b"\n".join(b"%d.5" % j for j in range(120_000))


@shape(".csv")
def one_long_cell():
    return b'a,b\n"' + b"x" * 900_000 + b'",1\n'


@shape(".csv")
def one_long_number():
    return b"a,b\n0,1\n" + b"9" * 900_000 + b",1\n"


@shape(".csv")
def quotes():
    return b"a,b\n" + b'"' * 900_000


@shape(".csv")
def line_ends():
    return b"a,b" + b"\r" * 450_000 + b"\n" * 450_000 + b"0,1\n"


@shape(".csv")
def rows_of_commas():
    return b"a,b\n" + b",\n" * 400_000


@shape(".parquet")
def parquet_of_3_000_columns():
    return as_parquet({f"c{j}": [0, 1] for j in range(3_000)})


@shape(".parquet")
def long_words_in_a_dictionary():
    return as_parquet({"a": pa.DictionaryArray.from_arrays(np.zeros(1_000_000, np.int32), ["x" * 10_000])})


@shape(".parquet")
def long_words():
    return as_parquet({"a": ["x" * 10_000] * 50_000, "b": [0, 1] * 25_000})


@shape(".parquet")
def rows_of_nothing():
    return as_parquet({"a": pa.nulls(100_000_000)})


@shape(".npy")
def words_without_letters():
    return header("{'descr': '<U0', 'fortran_order': False, 'shape': (900000000, 9)}")


@shape(".npy")
def columns_in_npy():
    return npy(np.zeros((1, 900_000), np.int8))


@shape(".npy")
def rows_in_npy():
    return npy(np.zeros((900_000, 1), np.int8))


@shape(".npy")
def header_of_brackets():
    return header("{'descr': " + "[" * 60_000)


def sparse(suffix):
    def write(folder):
        path = folder / f"sparse{suffix}"
        path.touch()
        os.truncate(path, 3 * 2**30)
        return path

    return write


SHAPES += [(f"sparse{suffix}", sparse(suffix)) for suffix in (".csv", ".npy", ".npz", ".parquet", ".amat")]
