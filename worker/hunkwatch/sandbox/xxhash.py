"""xxHash32 of a short text: the second key of the order in which Langfuse returns observations."""

from functools import lru_cache

_MASK = 0xFFFFFFFF
_P1, _P2, _P3, _P4, _P5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
_STRIPE = 16
_WORD = 4


@lru_cache(maxsize=1 << 16)
def digest(text: str) -> int:
    """The 32-bit hash with seed 0 of the text's UTF-8 bytes."""
    data = text.encode("utf-8", "surrogatepass")
    size, at = len(data), 0
    if size >= _STRIPE:
        lanes = [(_P1 + _P2) & _MASK, _P2, 0, -_P1 & _MASK]
        while at <= size - _STRIPE:
            for lane in range(4):
                word = int.from_bytes(data[at : at + _WORD], "little")
                lanes[lane] = _turn((lanes[lane] + word * _P2) & _MASK, 13) * _P1 & _MASK
                at += _WORD
        value = sum(_turn(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
    else:
        value = _P5
    value = (value + size) & _MASK
    while at <= size - _WORD:
        value = _turn((value + int.from_bytes(data[at : at + _WORD], "little") * _P3) & _MASK, 17) * _P4 & _MASK
        at += _WORD
    for byte in data[at:]:
        value = _turn((value + byte * _P5) & _MASK, 11) * _P1 & _MASK
    value = (value ^ (value >> 15)) * _P2 & _MASK
    value = (value ^ (value >> 13)) * _P3 & _MASK
    return value ^ (value >> 16)


def _turn(value: int, by: int) -> int:
    return ((value << by) | (value >> (32 - by))) & _MASK
