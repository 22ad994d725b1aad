"""What every codec has to do alike."""

import random

import pytest

from kcli.errors import EncodeError, InputError
from kcli.records.codecs import CODECS, codec_id, compress, decompress

NUMBERS = range(1, len(CODECS))
SIZES = (0, 1, 100, 32768, 65537, 300_000)


def sample(size: int) -> bytes:
    return (b"some text, again and again; " * (size // 28 + 1))[:size]


@pytest.mark.parametrize("codec", range(len(CODECS)))
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("magic", [0, 2])
def test_there_and_back(codec: int, size: int, magic: int) -> None:
    assert bytes(memoryview(decompress(codec, compress(codec, sample(size), magic), magic))) == sample(size)


@pytest.mark.parametrize("codec", NUMBERS)
def test_the_output_is_bounded(codec: int) -> None:
    data = compress(codec, bytes(5_000_000))
    with pytest.raises(InputError, match="unfolds to"):
        decompress(codec, data, 2, 4_999_999)
    assert len(memoryview(decompress(codec, data, 2, 5_000_000))) == 5_000_000


@pytest.mark.parametrize("codec", NUMBERS)
def test_cut_data_is_refused(codec: int) -> None:
    data = compress(codec, random.Random(1).randbytes(5000))
    for size in (1, 5, 12, len(data) // 2, len(data) - 1):
        with pytest.raises(InputError, match=CODECS[codec]):
            decompress(codec, data[:size])


@pytest.mark.parametrize("codec", NUMBERS)
def test_flipped_bits_give_an_error_or_bytes_and_nothing_else(codec: int) -> None:
    data, chance = compress(codec, sample(3000)), random.Random(2)
    for _ in range(300):
        broken = bytearray(data)
        broken[chance.randrange(len(broken))] ^= 1 << chance.randrange(8)
        try:
            memoryview(decompress(codec, bytes(broken)))
        except InputError as error:
            assert "\n" not in str(error)


def test_ids() -> None:
    assert [codec_id(name) for name in CODECS] == [0, 1, 2, 3, 4]
    with pytest.raises(EncodeError, match="no codec 'lzma'"):
        codec_id("lzma")
    with pytest.raises(InputError, match="codec 6"):
        decompress(6, b"")


@pytest.mark.parametrize("codec", NUMBERS)
def test_threads_do_not_meet(codec: int) -> None:
    import threading

    data = [random.Random(n).randbytes(40_000) + sample(40_000) for n in range(4)]
    folded = [compress(codec, each) for each in data]
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(40):
            if bytes(memoryview(decompress(codec, folded[number]))) != data[number]:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
