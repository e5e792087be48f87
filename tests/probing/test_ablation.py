from anyorder.constructions import construct
from anyorder.probing import OwnModel, ablation


def test_without_its_head_a_construction_forgets_and_random_heads_matter_less():
    model = OwnModel(construct("k-head-bayes", order=3, alphabet_size=4, length=64), "k-head-bayes")
    off = ablation(model, [(1, 0)], length=64)
    assert off.without > off.whole + 1
    assert off.random == ()  # the layer has no other head
