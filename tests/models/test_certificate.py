"""The text of a certificate, and the warning when a sequence exceeds it."""

import warnings

from anyorder.constructions import construct


def test_a_model_beyond_its_certified_length_warns_once():
    model = construct("bigram", order=1, alphabet_size=2, length=7)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model([0, 1] * 3)
        model([0, 1] * 4)
        model([0, 1] * 4)
    assert [str(one.message) for one in caught] == [
        "the certificate of this bigram model covers at most 7 tokens; longer sequences have no guarantee"
    ]
    assert caught[0].filename == __file__


def test_a_certificate_is_a_table_in_a_notebook():
    shown = construct("k-head-bayes", order=2, alphabet_size=2, length=9).certificate._repr_html_()
    assert "<th>bits needed</th>" in shown
    assert "equal keys get bit-equal scores" in shown
    assert "beta: 1" in shown
