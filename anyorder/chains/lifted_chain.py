"""The lifted chain: a k-th order chain seen as a first-order chain on its S^k contexts.

Contexts are numbered in base S with the oldest token as the leading digit, which is the order in which
`probabilities.reshape(S**k, S)` lists them. Context a followed by symbol s is context (a·S + s) mod S^k.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.csgraph
import scipy.sparse.linalg
from jaxtyping import Complex, Float, Int

from anyorder.errors import InputError, require

#: Above this many contexts the lifted matrix is sparse and eigenvalues come from Arnoldi iteration.
DENSE_STATES = 1024

#: Dense below that, sparse above.
Matrix: TypeAlias = np.ndarray | scipy.sparse.csr_array


def successors(contexts: int, alphabet_size: int) -> Int[np.ndarray, "contexts symbols"]:
    """The context that follows each context and symbol.

    >>> successors(4, 2).tolist()
    [[0, 1], [2, 3], [0, 1], [2, 3]]
    """
    following = np.arange(contexts)[:, None] * alphabet_size + np.arange(alphabet_size)[None, :]
    return following % contexts


def transition_matrix(rows: Float[np.ndarray, "contexts symbols"]) -> Matrix:
    """P(a → b) on contexts; a `scipy.sparse` array when there are more than `DENSE_STATES` of them.

    >>> transition_matrix(np.array([[0.9, 0.1], [0.5, 0.5]])).tolist()
    [[0.9, 0.1], [0.5, 0.5]]
    """
    contexts, symbols = rows.shape
    sources = np.repeat(np.arange(contexts), symbols)
    matrix = scipy.sparse.csr_array(
        (rows.ravel(), (sources, successors(contexts, symbols).ravel())), shape=(contexts, contexts)
    )
    matrix.eliminate_zeros()
    return matrix if contexts > DENSE_STATES else matrix.toarray()


def closed_classes(matrix: Matrix) -> list[Int[np.ndarray, "members"]]:
    """The closed communicating classes: strongly connected sets of states that the chain never leaves."""
    graph = scipy.sparse.csr_array(matrix)
    count, labels = scipy.sparse.csgraph.connected_components(graph, directed=True, connection="strong")
    sources, targets = graph.nonzero()
    leaving = labels[sources] != labels[targets]
    open_labels = np.unique(labels[sources[leaving]])
    return [np.flatnonzero(labels == label) for label in np.setdiff1d(np.arange(count), open_labels)]


def period(matrix: Matrix) -> int:
    """The greatest common divisor of the cycle lengths of an irreducible chain.

    >>> period(np.array([[0.0, 1.0], [1.0, 0.0]]))
    2
    """
    graph = scipy.sparse.csr_array(matrix)
    order, parents = scipy.sparse.csgraph.breadth_first_order(graph, 0)
    require(len(order) == graph.shape[0], "the period is defined for irreducible chains only")
    depth = np.zeros(graph.shape[0], dtype=np.int64)
    for state in order[1:]:
        depth[state] = depth[parents[state]] + 1
    sources, targets = graph.nonzero()
    return math.gcd(*np.unique(depth[sources] + 1 - depth[targets]).tolist())


def stationary_distribution(matrix: Matrix) -> Float[np.ndarray, "states"]:
    """The stationary distribution; it must be unique.

    >>> stationary_distribution(np.array([[0.9, 0.1], [0.5, 0.5]])).round(6).tolist()
    [0.833333, 0.166667]
    """
    classes = closed_classes(matrix)
    if len(classes) > 1:
        raise InputError(
            f"the chain has {len(classes)} closed classes, so its stationary distribution is not unique; "
            "mix the kernel with a little of the uniform one"
        )
    # On the closed class, μ(I - P) = 0 with one equation replaced by Σμ = 1 is a regular system.
    members = classes[0]
    inside = scipy.sparse.csr_array(matrix)[members][:, members]
    system = (scipy.sparse.eye_array(len(members)) - inside).T.tolil()
    system[0, :] = np.ones(len(members))
    target = np.zeros(len(members))
    target[0] = 1.0
    if len(members) <= DENSE_STATES:
        solution = scipy.linalg.solve(system.toarray(), target)
    else:
        solution = scipy.sparse.linalg.spsolve(system.tocsc(), target)
    distribution = np.zeros(matrix.shape[0])
    distribution[members] = np.maximum(solution, 0.0)
    return distribution / distribution.sum()


def leading_eigenvalues(matrix: Matrix) -> Complex[np.ndarray, "leading"]:
    """Eigenvalues by decreasing modulus: all of them for a dense matrix, six for a sparse one.

    >>> leading_eigenvalues(np.array([[0.9, 0.1], [0.5, 0.5]])).real.round(6).tolist()
    [1.0, 0.4]
    """
    if isinstance(matrix, np.ndarray):
        values = scipy.linalg.eigvals(matrix)
    else:
        # A fixed start vector makes the result reproducible. Ones would be the first eigenvector itself, from which
        # ARPACK restarts at random; and few Lanczos vectors miss eigenvalues of similar modulus.
        size = matrix.shape[0]
        start = np.random.default_rng(0).normal(size=size)
        values = scipy.sparse.linalg.eigs(matrix, k=6, v0=start, ncv=min(64, size), return_eigenvectors=False)
    return values[np.argsort(-np.abs(values), kind="stable")]
