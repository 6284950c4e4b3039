"""Fully linear proofs: the client proves that a measurement is valid, aggregators check it on their shares.

All functions take many reports, a row each, and any number of proofs for each: (rows, proofs, elements).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from discreet.aggregation.prio3.circuits import Circuit, Wiring
from discreet.aggregation.prio3.elements import Element, add, load, mul, store, sub
from discreet.aggregation.prio3.polynomials import domain, extension, interpolate, lagrange, next_power_of_2, ntt

Words = NDArray[np.uint64]
Flags = NDArray[np.bool_]

_SQUARE, _EACH, _CHUNKS = (int(wiring) for wiring in Wiring)


class FlpTables(NamedTuple):
    """A circuit's constants, for compiled code."""

    wiring: int
    chunk_length: int
    calls: int
    outputs: int
    polynomial: Words
    weights: Words
    roots: Words
    inverse_roots: Words
    inverse_size: Words
    gadget_roots: Words
    gadget_inverse_size: Words
    extension: Words


@dataclass(frozen=True)
class Flp:
    """The proof system of a circuit."""

    circuit: Circuit

    @cached_property
    def _tables(self) -> FlpTables:
        circuit, field = self.circuit, self.circuit.field
        size = next_power_of_2(circuit.gadget_poly_len)
        wires, gadget = domain(field, circuit.wire_poly_len), domain(field, size)
        return FlpTables(
            wiring=int(circuit.wiring),
            chunk_length=circuit.chunk_length,
            calls=circuit.calls,
            outputs=circuit.eval_output_len,
            polynomial=field.from_ints(circuit.polynomial),
            weights=field.from_ints(circuit.affine_weights),
            roots=wires.roots,
            inverse_roots=wires.inverse_roots,
            inverse_size=wires.inverse_size,
            gadget_roots=gadget.roots,
            gadget_inverse_size=gadget.inverse_size,
            extension=extension(field, circuit.gadget_poly_len, size),
        )

    def prove(self, meas: Words, prove_rand: Words, joint_rand: Words) -> Words:
        """The proofs of encoded measurements."""
        proofs = self.circuit.field.empty(*prove_rand.shape[:2], self.circuit.proof_len)
        _prove(self._tables, meas, prove_rand, joint_rand, self._share_of(1, 1), proofs)
        return proofs

    def query(
        self, meas: Words, proofs: Words, query_rand: Words, joint_rand: Words, num_shares: int
    ) -> tuple[Words, Flags]:
        """The verifiers (shares) of measurements and proofs (shares); and False where they would betray the proof."""
        verifiers = self.circuit.field.empty(*proofs.shape[:2], self.circuit.verifier_len)
        safe = np.ones(len(proofs), np.bool_)
        one, constant = self._share_of(1, num_shares), self._share_of(self.circuit.affine_constant, num_shares)
        _query(self._tables, meas, proofs, query_rand, joint_rand, one, constant, verifiers, safe)
        return verifiers, safe

    def decide(self, verifiers: Words) -> Flags:
        """Whether all verifiers of a row say that its measurement is valid."""
        valid = np.ones(len(verifiers), np.bool_)
        _decide(self._tables, verifiers, valid)
        return valid

    def _share_of(self, number: int, num_shares: int) -> Words:
        modulus = self.circuit.field.modulus
        return self.circuit.field.from_ints([number * pow(num_shares, -1, modulus)])


@njit(cache=True, nogil=True)
def _record_wires(tables: FlpTables, meas: Words, seeds: Words, joint_rand: Words, one: Words, wires: Words) -> None:
    """Write what the gadget is fed: wires[j] has the seed of wire j, and then its value in each call."""
    for wire in range(len(wires)):
        store(wires[wire], 0, load(seeds, wire))
    if tables.wiring == _SQUARE:
        store(wires[0], 1, load(meas, 0))
        store(wires[1], 1, load(meas, 0))
    elif tables.wiring == _EACH:
        for place in range(len(meas)):
            store(wires[0], place + 1, load(meas, place))
    else:
        share_of_one = load(one, 0)
        zero = sub(share_of_one, share_of_one)
        for call in range(tables.calls):
            base = load(joint_rand, call)
            power = base
            for term in range(tables.chunk_length):
                place = call * tables.chunk_length + term
                value = load(meas, place) if place < len(meas) else zero
                store(wires[2 * term], call + 1, mul(power, value))
                store(wires[2 * term + 1], call + 1, sub(value, share_of_one))
                power = mul(power, base)


@njit(cache=True, nogil=True)
def _gadget(polynomial: Words, wires: Words, place: int) -> Element:
    """The gadget of the wires' values at a place."""
    value = load(wires[0], place)
    if len(polynomial) == 0:
        total = sub(value, value)
        for wire in range(0, len(wires), 2):
            total = add(total, mul(load(wires[wire], place), load(wires[wire + 1], place)))
    else:
        total = load(polynomial, len(polynomial) - 1)
        for power in range(len(polynomial) - 2, -1, -1):
            total = add(mul(total, value), load(polynomial, power))
    return total


@njit(cache=True, nogil=True)
def _dot(a: Words, b: Words) -> Element:
    total = sub(load(a, 0), load(a, 0))
    for place in range(len(b)):
        total = add(total, mul(load(a, place), load(b, place)))
    return total


@njit(cache=True, nogil=True)
def _prove(tables: FlpTables, meas: Words, prove_rand: Words, joint_rand: Words, one: Words, proofs: Words) -> None:
    arity, size = prove_rand.shape[2], len(tables.roots)
    element = proofs.shape[3:]
    wires = np.zeros((arity, size, *element), np.uint64)
    values = np.empty((arity, len(tables.gadget_roots), *element), np.uint64)
    for row in range(len(meas)):
        for number in range(proofs.shape[1]):
            proof = proofs[row, number]
            _record_wires(tables, meas[row], prove_rand[row, number], joint_rand[row, number], one, wires)
            for wire in range(arity):
                store(proof, wire, load(prove_rand[row, number], wire))
                values[wire, :size] = wires[wire]
                values[wire, size:] = 0
                interpolate(values[wire], tables.inverse_roots, tables.inverse_size)
                ntt(values[wire], tables.gadget_roots)
            for place in range(len(proof) - arity):
                store(proof, arity + place, _gadget(tables.polynomial, values, place))


@njit(cache=True, nogil=True)
def _output(tables: FlpTables, meas: Words, gadget: Words, query_rand: Words, constant: Words) -> Element:
    """The circuit's outputs from the gadget's, in a random combination if they are several."""
    step = len(tables.gadget_roots) // len(tables.roots)
    total = sub(load(gadget, 0), load(gadget, 0))
    if tables.wiring == _EACH and tables.outputs > 1:
        for call in range(tables.calls):
            total = add(total, mul(load(query_rand, call), load(gadget, (call + 1) * step)))
        return total
    for call in range(tables.calls):
        total = add(total, load(gadget, (call + 1) * step))
    if tables.wiring == _SQUARE:
        total = sub(total, load(meas, 0))
    if len(tables.weights):
        second = sub(_dot(meas, tables.weights), load(constant, 0))
        total = add(mul(load(query_rand, 0), total), mul(load(query_rand, 1), second))
    return total


@njit(cache=True, nogil=True)
def _query(
    tables: FlpTables,
    meas: Words,
    proofs: Words,
    query_rand: Words,
    joint_rand: Words,
    one: Words,
    constant: Words,
    verifiers: Words,
    safe: Flags,
) -> None:
    arity, size = verifiers.shape[2] - 2, len(tables.roots)
    known = proofs.shape[2] - arity
    element = proofs.shape[3:]
    wires = np.zeros((arity, size, *element), np.uint64)
    gadget = np.empty_like(tables.gadget_roots)
    weights = np.empty_like(tables.gadget_roots)
    for row in range(len(meas)):
        for number in range(proofs.shape[1]):
            proof, rand, verifier = proofs[row, number], query_rand[row, number], verifiers[row, number]
            _record_wires(tables, meas[row], proof, joint_rand[row, number], one, wires)
            gadget[:known] = proof[arity:]
            for place in range(len(tables.extension)):
                store(gadget, known + place, _dot(gadget, tables.extension[place]))
            store(verifier, 0, _output(tables, meas[row], gadget, rand, constant))
            point = rand[len(rand) - 1 :]
            safe[row] &= lagrange(tables.roots, tables.inverse_size, point, weights)
            for wire in range(arity):
                store(verifier, 1 + wire, _dot(weights, wires[wire]))
            lagrange(tables.gadget_roots, tables.gadget_inverse_size, point, weights)
            store(verifier, 1 + arity, _dot(weights, gadget))


@njit(cache=True, nogil=True)
def _decide(tables: FlpTables, verifiers: Words, valid: Flags) -> None:
    arity = verifiers.shape[2] - 2
    wires = np.empty((arity, 1, *verifiers.shape[3:]), np.uint64)
    for row in range(len(verifiers)):
        for number in range(verifiers.shape[1]):
            verifier = verifiers[row, number]
            output = load(verifier, 0)
            for wire in range(arity):
                store(wires[wire], 0, load(verifier, 1 + wire))
            right = _gadget(tables.polynomial, wires, 0) == load(verifier, 1 + arity)
            valid[row] &= right and output == sub(output, output)
