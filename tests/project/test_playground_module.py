"""The WebAssembly module as the playground carries it."""

import gzip

import pytest


def test_names_of_functions_stay_out_of_the_page(scripts):
    builder = scripts("build_playground")
    head = b"\0asm\x01\0\0\0"
    types, code = b"\x01\x04\x01\x60\0\0", b"\x0a\x04\x01\x02\0\x0b"
    # 200 bytes take two bytes of length in LEB128.
    names = b"\0\xc8\x01" + b"\x04name" + b"f" * 195
    assert builder.strip_custom_sections(head + types + names + code + b"\0\x01x") == head + types + code


def test_what_is_no_module_is_refused(scripts):
    builder = scripts("build_playground")
    with pytest.raises(builder.RefusedError, match="no WebAssembly"):
        builder.strip_custom_sections(b"<html>")


def test_the_module_is_packed_small_and_alike_each_time(scripts):
    builder = scripts("build_playground")
    module = b"".join(b"function %d(queue, window) of %d packets;" % (i, i * i) for i in range(300))
    packed = builder.compress(module)
    assert gzip.decompress(packed) == module
    assert builder.compress(module) == packed
    assert len(packed) < len(gzip.compress(module, compresslevel=9, mtime=0))
