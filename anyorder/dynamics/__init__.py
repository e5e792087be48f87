"""Gradient descent on the reduced models of App. C and D, and the lemmas behind it as measurements."""

from anyorder import numerics as numerics
