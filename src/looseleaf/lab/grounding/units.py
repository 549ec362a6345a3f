"""Units and the families in which one can be mistaken for another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Unit", "unit_after", "units_in"]


class Unit(NamedTuple):
    """A unit: its family, e.g. `mass`, and its canonical name in it, e.g. `kg`."""

    family: str
    name: str


FAMILIES: dict[str, dict[str, str]] = {
    "currency": {
        "usd": "$ US$ USD dollar dollars",
        "eur": "€ EUR euro euros",
        "gbp": "£ GBP pound sterling",
        "jpy": "¥ JPY yen",
        "inr": "₹ INR Rs rupee rupees",
        "chf": "CHF franc francs",
        "cny": "CNY RMB yuan renminbi",
    },
    "scale": {
        "thousand": "thousand thousands",
        "million": "million millions mn mio",
        "billion": "billion billions bn",
        "trillion": "trillion trillions tn",
    },
    "percent": {"percent": "% percent percentage"},
    "length": {
        "nm": "nm nanometre nanometres nanometer nanometers",
        "mm": "mm millimetre millimetres millimeter millimeters",
        "cm": "cm centimetre centimetres centimeter centimeters",
        "m": "m metre metres meter meters",
        "km": "km kilometre kilometres kilometer kilometers",
        "in": "inch inches",
        "ft": "ft foot feet",
        "mi": "mi mile miles",
        "yd": "yd yard yards",
    },
    "area": {
        "m2": "m² m2 sqm",
        "km2": "km² km2",
        "ha": "ha hectare hectares",
        "ac": "acre acres",
        "ft2": "ft² sqft",
    },
    "mass": {
        "ug": "µg ug microgram micrograms",
        "mg": "mg milligram milligrams",
        "g": "g gram grams gramme grammes",
        "kg": "kg kilogram kilograms kilo kilos",
        "t": "t tonne tonnes ton tons",
        "kt": "kt kilotonne kilotonnes kiloton kilotons",
        "mt": "Mt megatonne megatonnes megaton megatons",
        "lb": "lb lbs",
        "oz": "oz ounce ounces",
    },
    "time": {
        "ms": "ms millisecond milliseconds",
        "s": "s sec secs second seconds",
        "min": "min mins minute minutes",
        "h": "h hr hrs hour hours",
        "d": "d day days",
        "wk": "week weeks",
        "mo": "month months",
        "yr": "yr yrs year years",
    },
    "power": {
        "w": "W watt watts",
        "kw": "kW kilowatt kilowatts",
        "mw": "MW megawatt megawatts",
        "gw": "GW gigawatt",
    },
    "energy": {
        "j": "J joule joules",
        "kj": "kJ",
        "kcal": "kcal",
        "wh": "Wh",
        "kwh": "kWh",
        "mwh": "MWh",
        "gwh": "GWh",
        "twh": "TWh",
    },
    "volume": {
        "ul": "µl ul microlitre microlitres microliter microliters",
        "ml": "ml mL millilitre millilitres milliliter milliliters",
        "l": "l L litre litres liter liters",
        "hl": "hl hectolitre hectolitres hectoliter hectoliters",
        "kl": "kl kL kilolitre kilolitres kiloliter kiloliters",
        "Ml": "ML megalitre megalitres megaliter megaliters",
        "Gl": "GL gigalitre gigalitres gigaliter gigaliters",
        "m3": "m³ m3",
        "gal": "gallon gallons gal",
    },
    "pressure": {
        "mbar": "mbar millibar millibars",
        "bar": "bar bars",
        "pa": "Pa pascal pascals",
        "kpa": "kPa kilopascal kilopascals",
        "mpa": "MPa megapascal",
        "hpa": "hPa",
        "psi": "psi",
        "atm": "atm",
    },
    "temperature": {"c": "°C celsius", "f": "°F fahrenheit", "k": "kelvin"},
    "torque": {"nm": "Nm newton-metre newton-metres", "knm": "kNm kilonewton-metre kilonewton-metres"},
    "data": {
        "kb": "KB kB",
        "mb": "MB megabyte megabytes",
        "gb": "GB gigabyte gigabytes",
        "tb": "TB terabyte terabytes",
    },
    "frequency": {
        "rpm": "rpm",
        "hz": "Hz hertz",
        "khz": "kHz kilohertz",
        "mhz": "MHz megahertz",
        "ghz": "GHz gigahertz",
    },
    "voltage": {"mv": "mV millivolt millivolts", "v": "V volt volts", "kv": "kV kilovolt kilovolts"},
    "current": {"ma": "mA milliampere", "a": "A ampere amperes amp amps"},
    "capacity": {"mah": "mAh", "ah": "Ah"},
    "speed": {"km/h": "km/h kmh", "mph": "mph", "m/s": "m/s"},
    "light": {"lm": "lm lumen lumens", "lx": "lx lux", "cd": "cd candela"},
    "sound": {"db": "dB decibel decibels"},
}
"""Spellings of each unit. Symbols (three letters or fewer, or with a capital) count only exactly as written."""

SYMBOL_LETTERS = 3


def _spellings() -> dict[str, Unit]:
    found: dict[str, Unit] = {}
    for family, units in FAMILIES.items():
        for name, spellings in units.items():
            for spelling in spellings.split():
                found[spelling] = Unit(family, name)
                if len(spelling) > SYMBOL_LETTERS:
                    found[spelling.lower()] = found[spelling.capitalize()] = Unit(family, name)
    return found


UNITS = _spellings()
AMBIGUOUS = frozenset(
    {"m", "t", "s", "d", "l", "g", "h", "a", "A", "V", "W", "J", "L", "in", "second", "Second"}
)
"""Symbols that are units right behind a number or in the brackets of a column head only."""
_AFTER = re.compile(r"\s?-?(%|°\s?[CF]|[€$£¥₹]|[A-Za-zµ]+(?:/[A-Za-z]+)?[²³23]?)(?![A-Za-z])")
_WORD = re.compile(r"%|°\s?[CF]|US\$|[€$£¥₹]|[A-Za-zµ]+(?:/[A-Za-z]+)?[²³23]?")
_BRACKETED = re.compile(r"[(\[]\s*([^()\[\]]{1,24})\s*[)\]]")
_SCALED = re.compile(r"(?:US\$|[€$£¥₹]|[A-Z]{3})\s?(k|K|m|M|b|B|['’]?000s?)")
"""A currency with a short scale, as column heads write it: "EUR k", "$m", "USD '000"."""
SHORT_SCALES = {"k": "thousand", "m": "million", "b": "billion"}


def unit_after(text: str, position: int) -> list[Unit]:
    """Units that stand right behind a number that ends at `position`: a scale word and a unit after it, if any."""
    found: list[Unit] = []
    while match := _AFTER.match(text, position):
        unit = _unit(match[1])
        if unit is None or any(unit.family == known.family for known in found):
            break
        found.append(unit)
        position = match.end()
    return found


def units_in(text: str) -> Iterator[Unit]:
    """Units that a text names by itself, such as a column head or "in hours"; single letters in brackets only."""
    bracketed = {symbol.strip() for inside in _BRACKETED.findall(text) for symbol in _split(inside)}
    for match in _WORD.finditer(text):
        word = match.group().replace(" ", "")
        unit = _unit(word)
        if unit is not None and (word not in AMBIGUOUS or word in bracketed):
            yield unit
    yield from _short_scales(text)


def _short_scales(text: str) -> Iterator[Unit]:
    for inside in _BRACKETED.findall(text):
        match = _SCALED.fullmatch(inside.strip())
        if match is not None:
            yield Unit("scale", SHORT_SCALES.get(match[1].lower(), "thousand"))


def _unit(spelling: str) -> Unit | None:
    """The unit of a spelling; of a rate such as kg/ha what is counted."""
    spelling = spelling.replace(" ", "")
    return UNITS.get(spelling) or UNITS.get(spelling.partition("/")[0])


def _split(inside: str) -> list[str]:
    return [inside, *re.split(r"[\s,]+", inside)]
