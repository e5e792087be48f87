"""Tables in notebooks show values as text."""

from html.parser import HTMLParser

from anyorder.io.notebook import as_html


class Cells(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.texts = [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def test_markup_in_values_stays_text():
    cells = Cells()
    cells.feed(as_html("a < b", {"name": "<script>alert(1)</script>", "several": ("&", "<b>"), "of": {"x": None}}))
    assert set(cells.tags) == {"table", "caption", "tr", "th", "td"}
    assert cells.texts == ["a < b", "name", "<script>alert(1)</script>", "several", "&, <b>", "of", "x: –"]
