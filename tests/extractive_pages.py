"""Invented pages that the tests of the extractor read, and a short way to ask about them."""

from __future__ import annotations

from looseleaf.models.extractive import Passage, answer

PROSE = """Annual review of the Brennick harbour
The harbour of Brennick was opened on 3 May 1911 by Lady Agnes Corvane.
In 2021, 412 ships called at the harbour, and 38% of them carried timber.
The new crane was built by Halvard Works for about $2.4 million and can lift 90 tonnes.
The harbour master, Joan Petrel, lives in the old customs house.
Anyone can write to harbour@brennick.example or call 555 201 3344 between 8:00 am and 4:30 pm.
The quay was painted dark green because the old paint was peeling."""

BEDS = """Table 3: Beds of the hospitals in the Norven district
Hospital\tBeds\tNurses\tOwner
Alder\t310\t95\tCity
Birch\t270\t80\tChurch
Cedar\t512\t150\tCity
Elm\t301\t77\tState
Total\t1,393\t402\t—"""

YEARS = """Passengers of the ferry lines
(in thousands)
\t2019\t2020\t2021
North line\t120.5\t60.1\t81.0
South line\t300.0\t150.0\t210.0
East line\t45.5\t20.5\t31.9"""

CHART = """Figure 4: Favourite season of the people asked
Spring
31%
Summer
42%
Autumn
17%
Winter
10%"""

RULES = """Rules of the reading room
Readers must follow three rules:
• Leave bags in the lockers
• Use pencils only
• Speak softly
Food and drink are not allowed.
Contact: Mira Stolt
Opening day: Tuesday
Room number: B-114"""

PAPER = """1
Counting Birds with Cheap Microphones
Ines Aldran, Tomas Beck and Wanda Crule
University of Falworth
Abstract
We count birds with four cheap microphones.
2 Methods
2.1 Recording
Recordings were made at dawn.
2.2 Filtering
Wind was filtered out.
2.3 Counting
Calls were counted by hand.
3 Results
Table 1: F1 of the methods
Method Precision Recall F1
LSTM (Verne, 2019) 81.0 70.5 75.4
CNN 85.2 78.1 81.5
Figure 1: Places of the microphones
Figure 2: Calls by hour
Local Area Microphone Grid (LAMG) stations were used."""

STATEMENT = """CONSOLIDATED BALANCE SHEETS
(in millions)
\t2022\t2021
Cash and cash equivalents\t120\t100
Inventories\t80\t60
Total current assets\t400\t350
Total assets\t1,000\t900
Accounts payable\t90\t70
Total current liabilities\t200\t180
Total liabilities\t600\t550
Total stockholders' equity\t400\t350
CONSOLIDATED STATEMENTS OF INCOME
Net sales\t2,000\t1,800
Cost of sales\t1,200\t1,100
Operating income\t300\t250
Net income\t150\t120"""


def ask(question: str, *texts: str, first: int = 1) -> str | None:
    """What the extractor answers from pages of these texts, numbered from `first` on."""
    found = answer(question, [Passage(first + index, text) for index, text in enumerate(texts)])
    return None if found is None else found.text
