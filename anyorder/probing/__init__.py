"""The order of induction of a head: spectra, orders and controls on plain arrays, for any model."""

from anyorder.probing.ablation import Ablation, ablation
from anyorder.probing.adapters.choose import open_model
from anyorder.probing.agreement import Agreement, ScoreFit
from anyorder.probing.behaviour import Behaviour, behaviour
from anyorder.probing.measurement import ProbeWatcher, Settings, probe
from anyorder.probing.order import Order, order
from anyorder.probing.paths import Path, paths
from anyorder.probing.protocol import Look, Model, OwnModel
from anyorder.probing.result import Maps, Placebo, Probed, ProbedHead, as_json
from anyorder.probing.spectrum import Spectrum, match_lengths, matched, spectrum
from anyorder.probing.stimuli import Sequences, sequences

__all__ = [
    "Ablation",
    "Agreement",
    "Behaviour",
    "Look",
    "Maps",
    "Model",
    "Order",
    "OwnModel",
    "Path",
    "Placebo",
    "ProbeWatcher",
    "Probed",
    "ProbedHead",
    "ScoreFit",
    "Sequences",
    "Settings",
    "Spectrum",
    "ablation",
    "as_json",
    "behaviour",
    "match_lengths",
    "matched",
    "open_model",
    "order",
    "paths",
    "probe",
    "sequences",
    "spectrum",
]
