"""Bayesian matrix factorization by Gibbs sampling, with what is known about the items as prior."""

from discreet.vendors.gibbs.fitted import FittedGibbs
from discreet.vendors.gibbs.gibbs_mf import GibbsMF
from discreet.vendors.gibbs.prior import ItemPrior, PseudoObservations

__all__ = ["FittedGibbs", "GibbsMF", "ItemPrior", "PseudoObservations"]
