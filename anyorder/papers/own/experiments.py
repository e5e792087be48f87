"""All our own experiments, in the order of the report."""

from anyorder.papers.own.birth import birth
from anyorder.papers.own.floor import floor
from anyorder.papers.own.mechanism import mechanism
from anyorder.papers.own.phase import phase
from anyorder.papers.own.precision import head_trade_off, precision
from anyorder.papers.own.trained_price import trained_price
from anyorder.papers.own.unknown_order import unknown_order

EXPERIMENTS = (precision, floor, phase, head_trade_off, birth, mechanism, unknown_order, trained_price)
