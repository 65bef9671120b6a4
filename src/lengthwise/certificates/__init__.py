"""Exact worst cases over all inputs of a length, the readout law, constructions and balance; see `docs/theory.md`."""

from __future__ import annotations

from lengthwise.certificates.balance import Balance, Displacements, balance, measured
from lengthwise.certificates.certificate import (
    Certificate,
    CertifiedLength,
    certificate_of_cases,
    certify,
    total_variation_bound,
)
from lengthwise.certificates.constructions import balanced, counterexample, minimal
from lengthwise.certificates.radon import Radon
from lengthwise.certificates.readout import Readout, cyclic_readout, readout_law
from lengthwise.certificates.sign import certify_sign, sign_tables
from lengthwise.certificates.tables import Tables, Weights, load_tables
from lengthwise.certificates.worst_case import WorstCase, worst_case, worst_cases

__all__ = [
    "Balance",
    "Certificate",
    "CertifiedLength",
    "Displacements",
    "Radon",
    "Readout",
    "Tables",
    "Weights",
    "WorstCase",
    "balance",
    "balanced",
    "certificate_of_cases",
    "certify",
    "certify_sign",
    "counterexample",
    "cyclic_readout",
    "load_tables",
    "measured",
    "minimal",
    "readout_law",
    "sign_tables",
    "total_variation_bound",
    "worst_case",
    "worst_cases",
]
