"""Which order of induction does a head have? Spectra, orders and controls on plain arrays, for anyone's model."""

from anyorder.probe.ablation import Ablation, ablation
from anyorder.probe.behaviour import Behaviour, behaviour
from anyorder.probe.measure import ProbeWatcher, Settings, probe
from anyorder.probe.models import Look, Model, OwnModel
from anyorder.probe.opening import open_model
from anyorder.probe.order import Order, order
from anyorder.probe.result import Maps, Placebo, Probed, ProbedHead, as_json
from anyorder.probe.sequences import Sequences, sequences
from anyorder.probe.spectrum import Spectrum, match_lengths, matched, spectrum

__all__ = [
    "Ablation",
    "Behaviour",
    "Look",
    "Maps",
    "Model",
    "Order",
    "OwnModel",
    "Placebo",
    "ProbeWatcher",
    "Probed",
    "ProbedHead",
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
    "probe",
    "sequences",
    "spectrum",
]
