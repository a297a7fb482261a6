"""The schema's history. A released file is never edited; what it made is changed by a later one."""
