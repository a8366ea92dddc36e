"""Units, currencies and scales, by the words and signs that stand for them."""

from __future__ import annotations

from collections.abc import Mapping


def _table(lines: str) -> dict[str, tuple[str, float]]:
    """Lines of `dimension factor name name ...`."""
    rows = [line.split() for line in lines.strip().splitlines()]
    return {name: (row[0], float(row[1])) for row in rows for name in row[2:]}


UNITS: Mapping[str, tuple[str, float]] = _table(
    """
    length 1000 km kms kilometer kilometers kilometre kilometres
    length 1 m meter meters metre metres
    length 0.01 cm centimeter centimeters centimetre centimetres
    length 0.001 mm millimeter millimeters millimetre millimetres
    length 1609.344 mi mile miles
    length 0.3048 ft foot feet
    length 0.0254 inch inches
    length 0.9144 yd yard yards
    mass 1000 t tonne tonnes
    mass 1 kg kgs kilo kilos kilogram kilograms kilogramme kilogrammes
    mass 0.001 g gram grams gramme grammes
    mass 0.000001 mg milligram milligrams
    mass 0.45359237 lb lbs
    mass 0.0283495 oz ounce ounces
    time 1 s sec secs second seconds
    time 0.001 ms millisecond milliseconds
    time 60 min mins minute minutes
    time 3600 h hr hrs hour hours
    time 86400 day days
    time 604800 week weeks
    month 1 month months
    month 12 year years yr yrs
    data 1 byte bytes
    data 1000 kb kilobyte kilobytes
    data 1000000 mb megabyte megabytes
    data 1000000000 gb gigabyte gigabytes
    data 1000000000000 tb terabyte terabytes
    speed 1 km/h kmh kph
    speed 1.609344 mph
    speed 3.6 m/s
    power 1 w watt watts
    power 1000 kw kilowatt kilowatts
    power 1000000 mw megawatt megawatts
    power 1000000000 gw gigawatt gigawatts
    volume 1 l liter liters litre litres
    volume 0.001 ml milliliter milliliters millilitre millilitres
    volume 3.785411784 gallon gallons gal
    area 1 m² m2
    area 1000000 km² km2 sqkm
    area 10000 ha hectare hectares
    area 4046.8564224 acre acres
    celsius 1 °c celsius ℃
    fahrenheit 1 °f fahrenheit ℉
    percent 1 % percent pct percentage
    points 1 pp
    times 1 x times
    USD 1 $ usd us$ dollar dollars
    USD 0.01 cent cents
    EUR 1 € eur euro euros
    GBP 1 £ gbp
    JPY 1 ¥ jpy yen 円
    CNY 1 cny rmb yuan 元
    INR 1 ₹ inr rupee rupees
    CHF 1 chf
    """
)
"""By name in lower case: what is measured, and how many of its unit one is."""

MONEY = frozenset({"USD", "EUR", "GBP", "JPY", "CNY", "INR", "CHF"})

SCALES: Mapping[str, float] = {
    "hundred": 1e2, "thousand": 1e3, "k": 1e3, "lakh": 1e5, "million": 1e6, "millions": 1e6, "mn": 1e6, "mio": 1e6,
    "millionen": 1e6, "mill\u00f3n": 1e6, "millones": 1e6, "milh\u00f5es": 1e6, "milioni": 1e6, "milliarde": 1e9,
    "milliarden": 1e9, "mrd": 1e9, "milliard": 1e9, "milliards": 1e9, "miliardi": 1e9, "tausend": 1e3, "mille": 1e3,
    "crore": 1e7, "billion": 1e9, "billions": 1e9, "bn": 1e9, "b": 1e9, "trillion": 1e12, "trillions": 1e12, "tn": 1e12,
    "万": 1e4, "萬": 1e4, "億": 1e8, "亿": 1e8,
}  # fmt: skip
ORDINALS = frozenset({"st", "nd", "rd", "th"})
# Keys of data whose last part names a unit: `duration_ms`.
KEYED = frozenset(
    name for name in UNITS if name.isascii() and name.isalnum() and name not in {"t", "x", "m", "l", "in"}
)

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
SPELT: Mapping[str, int] = {
    **{name: at for at, name in enumerate(_ONES) if name != "one"},
    **{name: (at + 2) * 10 for at, name in enumerate(_TENS)},
    "twice": 2,
    "thrice": 3,
    "dozen": 12,
}
"""Numbers in words; `one` stands for too much else."""
SMALL: Mapping[str, int] = {name: at for at, name in enumerate(_ONES) if 0 < at < 10}
