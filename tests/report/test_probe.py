"""The page of a probe: bars in place of lists, agreement explained, every control in words."""

import dataclasses

import numpy as np

from anyorder.cli.probe import _notes, _rows
from anyorder.probing import Settings, probe
from anyorder.probing.adapters.choose import open_model
from anyorder.report.probe import draw_probe, write_probe


def test_the_page_explains_what_it_shows(tmp_path):
    settings = Settings(4, None, None, 3)
    result = probe(open_model("construction:unrolled", settings, order=1, alphabet_size=4), settings)
    page = write_probe(tmp_path, result, _rows(result), _notes(result), "anyorder explore").read_text(encoding="utf-8")
    assert "1 of 2 heads has an order." in page
    assert "match length ℓ" in page
    assert "offsets 1 and 3 agree, 2 does not" in page
    assert "<td>▁\u2009█\u2009█</td>" in page.replace("▇", "█")
    for control in ("shares k - 1", "permuted window", "prefix matching", "no-repeat control"):
        assert f"<dt>{control}</dt>" in page
    head = result.strongest[0]
    unknown = dataclasses.replace(head, scores=head.scores | {"permuted": np.nan})
    figure = draw_probe(dataclasses.replace(result, heads=(unknown,)))
    assert "permuted window: not measured" in {text.get_text().strip() for text in figure.axes[2].texts}
    assert figure.axes[0].get_images()[0].axes.get_aspect() == 1
