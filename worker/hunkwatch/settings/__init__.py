"""Every setting as a type, and the one way to load them.

Only ``load`` reads the file and the environment it is given; a room takes its own section and nothing else.
"""

from hunkwatch.settings.duration import Duration, Pause
from hunkwatch.settings.load import (
    BadSettings,
    Loaded,
    Problem,
    config_places,
    load,
    redacted,
    secrets_of,
    state_folder,
    variable,
    without_password,
)
from hunkwatch.settings.projects import each
from hunkwatch.settings.sections import (
    CREDENTIALS,
    KEYS,
    DeliverySection,
    DiscoverSection,
    HttpSection,
    LangfuseSection,
    LogSection,
    ScoreName,
    ScoresSection,
    Section,
    SelectSection,
    Served,
    Settings,
    StoreSection,
    SweepSection,
)

__all__ = [
    "CREDENTIALS",
    "KEYS",
    "BadSettings",
    "DeliverySection",
    "DiscoverSection",
    "Duration",
    "HttpSection",
    "LangfuseSection",
    "Loaded",
    "LogSection",
    "Pause",
    "Problem",
    "ScoreName",
    "ScoresSection",
    "Section",
    "SelectSection",
    "Served",
    "Settings",
    "StoreSection",
    "SweepSection",
    "config_places",
    "each",
    "load",
    "redacted",
    "secrets_of",
    "state_folder",
    "variable",
    "without_password",
]
