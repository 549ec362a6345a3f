"""`python -m looseleaf.schemas`: write the shipped schema files anew."""

from looseleaf.schemas import write_schemas

write_schemas()
