"""The simulation and the replay as Gymnasium environments, for any agent of that world.

Importing this package registers them, and Gymnasium can do that by itself::

    gymnasium.make("variegate.environments:variegate/Simulated-v0")
"""

from typing import Final

from variegate.errors import MissingExtraError

try:
    import gymnasium
except ImportError:
    raise MissingExtraError("environments need gymnasium: pip install 'variegate[gym]'") from None

from variegate.environments.lists import Action, ListEnvironment, Observation
from variegate.environments.playing import play
from variegate.environments.replay import ReplayEnvironment
from variegate.environments.simulated import SimulatedEnvironment

SIMULATED: Final = "variegate/Simulated-v0"
REPLAY: Final = "variegate/Replay-v0"

for name, where in (
    (SIMULATED, "variegate.environments.simulated:SimulatedEnvironment"),
    (REPLAY, "variegate.environments.replay:ReplayEnvironment"),
):
    # Registering an id twice warns, and a module can be run twice by a reload.
    if name not in gymnasium.registry:
        gymnasium.register(name, entry_point=where)

__all__ = [
    "REPLAY",
    "SIMULATED",
    "Action",
    "ListEnvironment",
    "Observation",
    "ReplayEnvironment",
    "SimulatedEnvironment",
    "play",
]
