import pytest

from farloop import units


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (units.seconds, "25ms", 0.025),
        (units.seconds, "5.25us", 5.25e-6),
        (units.seconds, "0ps", 0.0),
        (units.rate, "100Gbps", 1e11),
        (units.rate, "1.5 Mbps", 1.5e6),
        (units.size, "900kB", 9e5),
        (units.size, "64KiB", 65536.0),
    ],
)
def test_quantities_are_read(read, text, value):
    assert read(text) == pytest.approx(value)


@pytest.mark.parametrize(
    ("read", "text"), [(units.seconds, "25"), (units.rate, "25ms"), (units.size, "kB"), (units.size, "")]
)
def test_other_texts_are_refused(read, text):
    with pytest.raises(ValueError, match="expected a number and one of"):
        read(text)


def test_quantities_are_told():
    assert units.rate_text(4.75e10) == "47.5 Gbps"
    assert units.bytes_text(1_640_000) == "1.64 MB"
    assert units.time_text(3.2e-5) == "32 µs"
    assert units.time_text(0) == "0 s"
