"""Errata of the paper and notes on it, as data: where, what is printed, our reading, and the claim that measures it.

An erratum is an error of the paper. A note is a remark: true and loose, said openly, left open, or not the paper's own.
"""

from __future__ import annotations

from typing import NamedTuple


class Erratum(NamedTuple):
    """An error of the paper, with the claim of the ledger that measures it."""

    id: str
    where: str
    printed: str
    reading: str
    claim: str


class Note(NamedTuple):
    """A remark on the paper, with the claim of the ledger that has the numbers."""

    id: str
    where: str
    says: str
    claim: str


#: Numbers are never given twice: those that are missing became notes.
ERRATA = tuple(
    Erratum(*row)
    for row in (
        ("E1", "Sec. 2.2, attention", "the query is W_Q x_i", "it is that of position n, W_Q x_n", "def-transformer"),
        ("E2", "App. A and B, value of Z_n", "Z_n = 3^(k+1)/5 from n = k + 1 on, at most 3^k/5 before; its sum goes to "
         "min{k, n - 1}",
         "the sum goes to min{k, n}: (3/4)(3^k + 1) with a full window, already at n = k; (3/4)(3^(k-1) + 1) with one "
         "token fewer (1 at n = 0). It still separates, which is all that the proof needs", "eq-gate"),
        ("E3", "App. A and B, index set I_n", "j = 0 … k; i from k + 1 in the text, from k in the display",
         "j = 0 … k - 1, i from k, as in Definition 2", "eq-index-set"),
        ("E4", "App. B.1 and C.1, W_mlp^(3)", "reads the block of e_{x_n}, writes that of v_n, and has 5S + 3 columns; "
         "the display below applies W_mlp^(2) again",
         "reads v_n, writes v_n/‖v_n‖, one block further right, and has 6S + 3 columns; the display applies it",
         "eq-mlp-matrices"),
        ("E6", "App. I, three layers, and Table 1", "total 15d² + d(3T + 2S + 10)",
         "its rows add up to 15d² + d(3T + 2S + 12)", "tab-breakdown-three-layer"),
        ("E7", "theorems of App. A and B", "two equivalent configurations",
         "the second counts opening positions with aligned partial windows too. The appendix itself calls it biased, "
         "and the bias vanishes as T grows; only \"equivalent\" is too strong", "thm-two-layer-variants"),
        ("E8", "App. D, both theorems", "with weights 1/k the model reduces to the conditional k-gram",
         "it reduces to the bag of k, which equals the k-gram for k = 1 only. Where the kernel depends on the bag of "
         "the last k tokens, as Assumption 2(1) says as printed, it estimates π just as well; the step to general "
         "chains is what fails", "thm-second-order-limit"),
        ("E9", "App. F, first lemma, proof", "P^(i+1)(0|0,0) = π(0|1,0) + (π(0|0,0) - π(0|1,0)) P^i(0|0,0)",
         "false from i = 2 on: for π(0|00) = .8, π(0|10) = .3, π(0|01) = .45, π(0|11) = .25 the third value is .622, "
         "the recursion gives .65 (contexts newest first, as in the proof)", "eq-recursion"),
        ("E10", "Sec. 3 and 4, App. D", "temperature raised to infinity; at the end of D.2.1, k → ∞",
         "scores are multiplied by a number, κ, that goes to infinity, as Sec. 3 and 4 say in the same sentence: the "
         "temperature goes to zero", "claim-temperature"),
        ("E12", "Table 1, Nichani et al.", "tail T(S + T)",
         "looks like a position table; the model of Nichani et al. has an output matrix of 2(k + 1)(S + T)·S",
         "tab-one-nichani"),
        ("E15", "App. D, Assumption 3(5)", "β_m > 0 for all m, with f(a)",
         "β_m = 0 for every m ≥ 2 and every chain; f(a, b), as in the proof, is meant", "asm-any-order"),
        ("E16", "App. D, Assumption 3(4)", "the lifted chain is self-adjoint",
         "never, for an irreducible chain above order one", "asm-any-order"),
        ("E17", "App. F, second lemma, return count", "Σ P^l(a→b) f(a) falls with l",
         "does not depend on l, because rows of P^l add up to one; the proof uses f(a, b)", "eq-return-count"),
        ("E18", "App. A, B and C.1, W_Q^(2) and W_K^(2)", "identity of W_Q^(2) after 1 + (2 + 3S) columns",
         "one block of S further left; in the qk variants (A.2.2, B.2) two blocks further left, and W_K^(2) one block",
         "eq-projections"),
        ("E19", "Remark after Theorem 3", "App. B.2 has 8d² + d(2T + 2S + 9)",
         "by the rules of App. I, 8d² + d(2T + 2S + 8)", "rem-parameters-qk"),
        ("E21", "App. D.2.1, last display of g_{i,j}", "g_{i,j} = 2(Σ_s P^{|i-j|}(s|s,s) - 1) by detailed balance",
         "false: given x_i the token before it is not fixed", "eq-g-second-order"),
        ("E23", "App. G, variance lemma, proof", "|Cov| ≤ λ^j Var, used for lifted chains of any order",
         "holds for reversible first-order chains; λ bounds no norm where the operator is not self-adjoint",
         "lem-covariance"),
        ("E24", "App. G, first extension of Lemma G.2, last line of the proof", "≲ 1/(n(1 - λ))",
         "the statement's 1/√(n(1 - λ)), because ε is of that size", "lem-G2-first"),
        ("E25", "App. D, Assumption 2(1)", "μ(s1,s2)π(s'|s1,s2) = μ(s2,s')π(s1|s2,s') as \"time reversibility\"",
         "the right side is the cyclic shift of the left side's word, not its reversal. For binary chains reversal "
         "asks for nothing; the printed equation says π(·|01) = π(·|10), that the kernel depends on the bag, and then "
         "the theorem's conclusions hold, though not by the printed steps (E9, E21, E32)", "asm-second-order"),
        ("E26", "App. A, W_V of head 1; App. A, B, C.1 and D.1, all W_V of layer 1",
         "head 1 writes the block of v_n; 5S + 3 columns",
         "head 1 writes the block of u_n, as the display below it says; 6S + 3 columns", "eq-projections"),
        ("E27", "App. A.2.1 and D.1, W_mlp^(1) and W_mlp^(2)",
         "the first reads v_n, the second writes the block of v_n",
         "the first reads u_n, the second writes v_n/‖v_n‖, one block further right", "eq-mlp-matrices"),
        ("E28", "App. D.2.1 and D.2.2, d_{g_{m,i}} at t = 0", "1/(i - 1)",
         "1/i: row i holds the offsets 1 … i (printed it is 1/0 at i = 1)", "eq-start"),
        ("E29", "App. F, first lemma, proof of the second clause",
         "bounds P^3 - P^i = G_0 d(1 - d^(i-2)), with d = π(0|0,0) - π(0|1,0)",
         "the statement has P^1 - P^i; and by the proof's own formulas P^3 - P^i = G_0 d²(1 - d^(i-3)). It uses "
         "1 - π(0|0,0) ≥ ε', which is not assumed, and the gap tends to 0 as π(s|s,s) tends to 1",
         "lem-second-order-gap"),
        ("E30", "App. F, first lemma", "transition preference makes P^i(s|s,s) fall",
         "not by itself: about four in ten such kernels do not fall, read newest first. It fell for all kernels that "
         "meet Assumption 2 as printed", "lem-second-order"),
        ("E31", "App. A and B, layer 2, score as a distance", "κ·cos = 2 - κ‖·‖², and 2κ - κ‖·‖² in the softmax",
         "κ·cos = κ - (κ/2)‖·‖²: a factor of two in κ, nothing more", "eq-score"),
        ("E32", "App. D.2.1 and D.2.2", "g_{i,1} > 1 by assumption",
         "does not follow: E[g_1] = .21 to .51 over the priors tried. Needed is g_1 above the mean of g, and that "
         "holds; perhaps g_1 ≥ 0 was meant, which the third part, Σ π² ≥ 1, gives by the printed 2(Σ P² - 1)",
         "eq-g-positive"),
        ("E33", "App. F, second lemma, both formulas", "λ^l(1 - λ) and λ² - λ^l; g_1 - g_l > 0 for all l ≥ 0",
         "λ^(l+1)(1 - λ) and λ² - λ^(l+1), as in the proof: the count of the first line is after l + 1 steps. And "
         "l ≥ 2: g_1 - g_l is 0 at l = 1 and negative at l = 0",
         "lem-spectral"),
        ("E34", "Definition 4", "for all i = 1 … k", "for all j = 1 … k; and some position must match, as a softmax "
         "always has a maximum", "def-induction-head"),
        ("E35", "Sec. 5 (iii) and App. C (ii)", "att_{n,n-i} = exp(p_i)/Σ_{j≤i} exp(p_j) ∈ {0, 1}",
         "the sum goes to n, as in App. C.1, and weights lie between zero and one", "asm-model"),
        ("E36", "Sec. 5, eq. 1 and Theorem 4", "a loss over contexts as they occur, next to L* with contexts "
        "weighted alike",
         "both weigh contexts alike, as App. C.2 does: otherwise the true kernel is below L*", "eq-optimal-loss"),
        ("E37", "App. C.2 and D.2, Taylor expansion", "softmax(aZ) = 1/n + …", "1/(n + 1): positions are 0 … n",
         "eq-taylor"),
        ("E38", "App. C.2, requirement; App. D.2.1 and D.2.2", "dL/dp_1 positive and largest; in C.2 the sum at the "
         "start from j = 1", "of -dL/dp, as the text goes on to use it; from j = 0, as 1/(i + 1) counts i + 1 terms",
         "eq-stage-one"),
        ("E39", "Sec. 4, MLP", "the middle term of u_n is (3 e_{x_{n-k}} v_n)/C", "3 v_n, as in App. B.1", "eq-query"),
        ("E40", "App. D.2, Z_i", "k + 1 terms, e_{x_n} … e_{x_{n-k}}, divided by k; the context ends with "
         "x_{n-k} = s_k", "k terms, to x_{n-k+1} = s_k",
         "eq-higher-query"),
        ("E41", "App. D.2.1, list of g_{i,j}, third line", "P(x_i = s', x_{i-j} = 0) twice",
         "once with 0 and once with 1, as the next display uses it", "eq-g-any-order"),
        ("E42", "App. E, extension of Lemma D.3", "for any first layer, with att_r(1 - att_r)",
         "at k = 1 while p_1 is at least every other p_j, which the descent preserves. At k ≥ 2 it needs "
         "g_1 = … = g_k as well, and the factor att_r(1 - k·att_r), because att_r tends to 1/k; on reversible chains, "
         "where g_1 > g_k, it fails", "lem-D3"),
        ("E43", "App. G, both extensions of Lemma G.2", "μ(s') ≥ 0", "μ(s') ≥ γ/S: the proofs divide by μ²",
         "lem-G2-first"),
        ("E44", "Definition 3; App. A and B, scores and values", "Definition 3 adds p after W_K and W_V; the "
         "appendices apply the matrices to Emb + p", "as in Definition 3, with W p of the appendices for p",
         "def-transformer"),
        ("E45", "App. C.2 and D.2, derivative of log logit", "has the factor 1/S (1/S^k), which stands before the "
         "expectation too", "the factor stands there once, as the next display has it", "eq-gradient"),
    )
)  # fmt: skip

NOTES = tuple(
    Note(*row)
    for row in (
        ("N1", "App. A and B, margin", "Distance at least 3^-k: true and loose; the smallest tends to 2·3^-k.",
         "eq-margin"),
        ("N2", "key positions", "Often quoted as κ·(i + 1)·log 3 with κ → ∞, which becomes one-hot; the appendix has "
         "i·log 3 + κ, which gives weights 3^i.", "eq-first-attention"),
        ("N3", "Sec. 2.2, output", "Called logits, and said to be f = ReLU: what comes out are probabilities, and no "
         "softmax goes on top.", "def-output"),
        ("N4", "Definition 2", "The denominator is assumed to be non-zero; an unseen window is 0/0. Here it is "
        "undefined, and coverage is reported.", "def-kgram-denominator"),
        ("N5", "App. B.2", "Its MLP forms u_n from a full window before n, so that it promises nothing at n = k - 1. "
        "The paper does not say that it does.", "thm-two-layer-variants"),
        ("N6", "App. D, Assumption 2", "Which token of a context stands first is not said; the proofs write the newest "
         "first. As printed it does not matter; under the name of reversal it does.", "eq-g-monotone"),
        ("N7", "App. A and B, layer 1", "At n = 0 the sum of the window is empty: position 0 attends to itself.",
         "eq-first-attention"),
        ("N8", "Sec. 4", "ReLU and norm are critical for the printed construction; others do without an MLP.",
         "claim-nonlinearities"),
        ("N9", "Sec. 1, App. I", "Smallest parameter count: from some T on, and above order 1.", "claim-compact"),
        ("N10", "Table 1, Edelman et al.", "Counted by other rules than the paper's own rows.", "tab-one-edelman"),
        ("N11", "Remark 2, App. H.4", "Ω(log T + k) bits suffice: a sufficient number is O(·); its factor depends on "
        "the construction.", "rem-bits"),
        ("N12", "App. H.3 and H.5", "H.3 takes three seeds, the table of settings says five repetitions. H.4 states "
        "its length, 32; H.2 and H.3 do not.", "tab-settings"),
        ("N13", "App. H.3.1", "A token is replaced by an alternative, that is another one; the printed losses agree "
         "with those of a token drawn from all symbols, itself included, taken over the undisturbed chain, the only "
         "one of six readings tried that agrees in every row.",
         "tab-token-noise"),
        ("N14", "App. H.3.2", "Which true loss is subtracted is not said; the printed losses lie between two readings.",
         "tab-transition-noise"),
        ("N15", "App. H.4", "The text says variance, the table Std: the numbers are read as standard deviations.",
         "tab-bits"),
        ("N16", "App. D, Assumption 2(3)", "π²(s|s,s) is read as the probability of s after two steps, as the name "
         "second hop says, not as a square.", "asm-second-order-reversal"),
        ("N17", "App. H.5", "Says based on GPT-2. The published code has another architecture: relative key positions "
         "in layer 1 and an MLP after layer 1 only, no norm around attention.", "tab-settings"),
    )
)  # fmt: skip
