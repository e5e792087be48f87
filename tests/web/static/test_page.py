"""The page of the explorer in a real Chromium: visible numbers equal those of the estimators."""

from __future__ import annotations

import json
import re
import time

import httpx
import pytest

from anyorder.web import schema
from tests import oracles
from tests.web.exploring import SYMBOLS, TEXT, TOKENS, explorer


def go(page, address, /, **state):
    """Open an address and wait for the view; the proof is open unless the state says otherwise."""
    words = {"page": "model", "model": "dyadic", "order": 2, "text": TEXT, "show": "proof", **state}
    page.goto("about:blank")
    page.goto(f"{address}#" + "&".join(f"{name}={value}" for name, value in words.items()))
    settle(page)
    page.evaluate("() => (document.querySelector('#settings').open = true)")


def settle(page):
    """Wait until nothing is being computed."""
    page.wait_for_selector("body[data-state=ready]")


def chosen(page):
    return int(page.get_attribute("#tokens [aria-selected=true]", "data-position"))


def shown(page, name):
    found = page.query_selector_all(f"#tokens .{name}")
    return [int(option.get_attribute("data-position")) for option in found]


def wait_for(page, selector, text):
    page.locator(selector).filter(has_text=re.compile(text)).first.wait_for()


def picture(page, index=1):
    """The pixels of a heat map, as a data URL."""
    return page.evaluate("(index) => document.querySelectorAll('#maps canvas')[index].toDataURL()", index)


def test_the_first_view_asks_answers_and_offers_how(page, server):
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(server)
    settle(page)
    text = schema.EXAMPLE
    n = chosen(page)
    followed = [text[i] for i in range(2, n + 1) if text[i - 2 : i] == text[n - 1 : n + 1]]
    assert page.inner_text("#question") == f"What comes after {text[n - 1]} {text[n]}?"
    assert f"stood here {len(followed)} times before" in page.inner_text("#counted")
    weights = page.evaluate(
        "() => [...document.querySelectorAll('#tokens i')].map((bar) => parseFloat(bar.style.height))"
    )
    assert [at for at, weight in enumerate(weights) if weight > 1] == shown(page, "match")
    assert f"100\u00a0% of its attention on these {len(followed)} letters" in page.inner_text("#looks")
    for letter in set(followed):
        share = 100 * followed.count(letter) / len(followed)
        assert f"{letter} {share:.2g}\u00a0%" in page.inner_text("#predicted")
    assert page.inner_text("#reader").startswith("A transformer with two layers, built by hand (“unrolled”), has read")
    error = page.text_content("#error")
    assert (
        f"the largest error on this sequence is {error}, the bound {page.text_content('#bound')}."
        in page.inner_text("#predicted")
    )
    assert "model=unrolled" in page.url
    # One screen, the proof only after "How?".
    assert page.locator("#views .primary").bounding_box()["y"] < 600
    assert not any(page.is_visible(name) for name in ("#proof", "#attention", "#prediction"))
    page.get_by_role("button", name="How?").click()
    settle(page)
    assert page.is_visible("#step h3")
    assert page.locator("#steps button").count() == 4
    assert page.is_hidden("#facts")


def test_the_first_view_comes_with_the_page(page, server):
    """A warm explorer sends the first view with the page, equal to a requested one."""
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/api/" in request.url else None)
    page.goto(server)
    settle(page)
    said = page.inner_text("#stage")
    assert [url.rpartition("/")[2] for url in asked] == ["view", "story"]
    with explorer(warm=True) as (url, _):
        while not re.search(r'"first":\{"view"', httpx.get(f"{url}/data.js", timeout=60).text):
            time.sleep(0.05)
        asked.clear()
        page.goto(url)
        settle(page)
        assert asked == []
        assert page.inner_text("#stage") == said
        page.keyboard.press("ArrowLeft")
        settle(page)
        assert page.inner_text("#stage") != said
        page.keyboard.press("ArrowRight")
        settle(page)
        assert page.inner_text("#stage") == said


def test_windows_of_query_and_key_are_told_apart(page, address):
    n = 20
    go(page, address, position=n, step=0)
    assert shown(page, "query") == [n - 1, n]
    assert shown(page, "key") == [n - 2, n - 1]
    assert page.locator("#legend .key").inner_text() == f"key window of position {n}: the 2 letters before it"
    page.click("#views [data-show=answer]")
    settle(page)
    before = sorted({at - back for at in shown(page, "match") for back in (1, 2)})
    assert shown(page, "key") == before
    assert page.locator("#legend .key").inner_text() == "key windows: the same letters earlier"
    colours = [
        page.evaluate("(kind) => getComputedStyle(document.querySelector(`#tokens .${kind}`)).borderColor", kind)
        for kind in ("query", "key")
    ]
    assert len(set(colours)) == 2


@pytest.mark.parametrize("n", [9, 20, 24])
def test_clicking_a_position_shows_its_window_and_counts(page, address, n):
    go(page, address, position=2)
    page.click(f"#tokens [data-position='{n}']")
    page.wait_for_selector(f"#tokens [data-position='{n}'][aria-selected=true]")
    followed = oracles.followers(TOKENS, n, 2)
    assert shown(page, "query") == [n - 1, n]
    matches = [i for i in range(2, n + 1) if TOKENS[i - 2 : i] == TOKENS[n - 1 : n + 1]]
    assert shown(page, "match") == matches
    told = page.text_content("#counts") if matches else ""
    counted = {symbol: int(number) for symbol, number in re.findall(r"(\S+)\s(\d+)×", told)}
    assert counted == {SYMBOLS[s].replace(" ", "␣"): count for s, count in followed.items()}


def test_a_typed_sequence_changes_the_maps(page, address):
    go(page, address, show="maps")
    before = picture(page)
    page.fill("#text", "dcba abcd abrac dabra bad cab a bar ca")
    settle(page)
    assert page.locator("#tokens [role=option]").count() == 38
    assert picture(page) != before
    assert "text=dcba+abcd" in page.url


def test_the_temperature_breaks_exactness_and_restores_it(page, address):
    go(page, address)
    exact = float(page.text_content("#error"))
    page.locator("#temperature").fill("10")
    wait_for(page, "#badge", "beyond")
    broken = float(page.text_content("#error"))
    assert float(page.text_content("#bound")) == 1
    page.locator("#temperature").fill("0")
    wait_for(page, "#badge", "exact")
    assert float(page.text_content("#error")) == exact < 1e-15 < 0.05 < broken


def test_the_dtype_breaks_a_high_order(page, address):
    go(page, address, model="two-layer", order=5, dtype="float32")
    wait_for(page, "#badge", "beyond")
    assert re.search(r"needs \d+ bits, float32 has 24", page.text_content("#refusal"))
    page.select_option("#dtype", "float64")
    wait_for(page, "#badge", "within its bound|exact")
    assert page.locator("#refusal").count() == 0


def test_one_more_estimator_stands_beside_the_model(page, server):
    go(page, server, show="prediction")
    assert "ctw" not in page.text_content("#predictions")
    page.select_option("#estimator", "ctw")
    wait_for(page, "#predictions", "ctw")
    assert "estimator=ctw" in page.url


def test_the_address_restores_the_view(page, browser, address):
    go(page, address, model="two-head", order=2, position=20, step=4, heads="2.1", temperature=1)
    page.click("#tokens [data-position='17']")
    page.wait_for_selector("#tokens [data-position='17'][aria-selected=true]")
    page.click("#steps button >> nth=1")
    settle(page)
    copied = page.url
    other = browser.new_page(viewport={"width": 1280, "height": 900})
    try:
        other.goto(copied)
        settle(other)
        assert chosen(other) == 17
        assert other.input_value("#temperature") == "1"
        for selector in ("#steps [aria-current=step]", "#step h3", "#question", "#error"):
            assert other.text_content(selector) == page.text_content(selector)
        assert other.url == copied
        for opened in (page, other):
            opened.click("#views [data-show=maps]")
            settle(opened)
        assert other.text_content("#maps figcaption >> nth=0") == page.text_content("#maps figcaption >> nth=0")
        assert picture(other, 0) == picture(page, 0)
    finally:
        other.close()


def test_every_construction_tells_its_story(page, server):
    go(page, server)
    for name in page.evaluate(
        "() => [...document.querySelectorAll('#model optgroup')[0].children].map((o) => o.value)"
    ):
        page.select_option("#model", name)
        settle(page)
        assert page.text_content("#certificate dd").startswith(f"{name}:")
        assert page.locator("#steps button").count() >= 3
        assert page.locator("#step figure svg").count() >= 1
        assert page.is_hidden("#problem")


def test_errors_are_messages_and_go_away(page, server):
    go(page, server)
    page.fill("#order", "99")
    wait_for(page, "#problem", "order is 99, must be at most 16")
    page.fill("#order", "2")
    page.wait_for_selector("#problem", state="hidden")
    settle(page)
    page.fill("#text", "".join(map(chr, range(0x4E00, 0x4E00 + 70))))
    wait_for(page, "#problem", "70 different characters, at most 64")
    assert len([line for line in page.said if "status of 422" in line]) == 2


def test_maps_answer_to_pointer_and_keyboard(page, address):
    go(page, address, position=20, show="maps")
    canvas = page.locator("#maps canvas").nth(1)
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    cell = (box["width"] - 28) / len(TOKENS)
    canvas.hover(position={"x": 26 + 7.5 * cell, "y": 26 + 14.5 * cell})
    assert page.text_content("#readout").startswith("query 14 (")
    assert "key 7 (" in page.text_content("#readout")
    canvas.click(position={"x": 26 + 7.5 * cell, "y": 26 + 14.5 * cell})
    large = page.locator("#large-map canvas")
    side = large.bounding_box()["width"]
    cell = (side - 28) / len(TOKENS)
    assert side > box["width"] * 1.5
    large.click(position={"x": 26 + 7.5 * cell, "y": 26 + 14.5 * cell})
    page.wait_for_selector("#tokens [data-position='14'][aria-selected=true]", state="attached")
    page.keyboard.press("Escape")
    page.wait_for_selector("#large-map", state="hidden")
    canvas.focus()
    canvas.press("ArrowUp")
    canvas.press("ArrowRight")
    assert page.text_content("#readout").startswith("query 13 (")
    assert "key 1 (" in page.text_content("#readout")
    canvas.press("Enter")
    page.wait_for_selector("#tokens [data-position='13'][aria-selected=true]")
    page.locator("#tokens [data-position='13']").press("ArrowRight")
    page.wait_for_selector("#tokens [data-position='14'][aria-selected=true]")
    assert page.evaluate("() => document.activeElement.dataset.position") == "14"


def test_every_figure_can_be_saved_as_svg_and_png(page, address):
    go(page, address, step=4)
    for view, name in (
        ("proof", "score"),
        ("maps", "Layer 2"),
        ("maps", "Difference"),
        ("prediction", "Error at every position"),
    ):
        page.click(f"#views [data-show={view}]")
        settle(page)
        figures = page.locator("#stage figure:visible")
        assert figures.count() == page.locator("#stage").get_by_role("button", name="SVG").count() >= 2
        place = figures.locator("figcaption .name").all_text_contents().index(name)
        for kind, start in (("SVG", b"<svg "), ("PNG", b"\x89PNG")):
            with page.expect_download() as download:
                figures.nth(place).get_by_role("button", name=kind).click()
            with open(download.value.path(), "rb") as file:
                data = file.read()
            assert data.startswith(start)
            assert download.value.suggested_filename.endswith(f".{kind.lower()}")
            assert kind == "SVG" or len(data) > 1000


def test_a_long_computation_can_be_cancelled(page, server):
    go(page, server, show="prediction")
    page.route("**/api/verify", lambda route: None)  # never answered: stands for a computation of any length
    page.click("#verify")
    page.wait_for_selector("#busy:not([hidden])")
    with page.expect_event("requestfailed") as gone:
        page.click("#cancel")
    assert gone.value.url.endswith("/api/verify")
    wait_for(page, "#problem", "Cancelled")
    assert page.is_hidden("#busy")
    page.unroute("**/api/verify")
    page.click("#verify")
    wait_for(page, "#verified", r"bound .*: satisfied")


def test_a_run_is_shown_next_to_bayes(page, server):
    go(page, server, text="abbabaabbaab", model="stored:models/run", index=1, order=0)
    assert "trained, seed 1" in page.text_content("#certificate")
    assert page.text_content("#badge") == "no certificate"
    assert page.locator("#steps button").all_text_contents() == ["Layer 1", "Layer 2", "Prediction"]


def test_the_dynamics_are_played_paused_and_restored(page, server):
    stored = "models/trajectory.npz"
    page.goto(f"{server}#page=dynamics&run={stored}&frame=10")
    settle(page)
    assert page.text_content("#frame-step") == "step 10 of 40"
    bars = page.locator(".charts svg").first.get_attribute("aria-label")
    # Watched from inside the page: the film lasts two seconds, and a busy machine looks in from outside too rarely.
    page.evaluate(
        """() => new Promise((paused) => {
            const play = document.querySelector("#play");
            play.click();
            const watch = setInterval(() => {
                if (Number(document.querySelector("#frame").value) < 15) return;
                clearInterval(watch);
                play.click();
                paused();
            }, 10);
        })"""
    )
    settle(page)
    frame = int(re.search(r"frame=(\d+)", page.url)[1])
    assert page.text_content("#frame-step") == f"step {frame} of 40"
    assert 15 <= frame < 40
    assert page.locator(".charts svg").first.get_attribute("aria-label") != bars
    page.locator("#frame").fill("40")
    settle(page)
    assert "frame=40" in page.url
    # The last state of the file has p_1 = 5, p_2 = 4 and zero elsewhere.
    assert "0 0.00476, 1 0.707, 2 0.26," in page.locator(".charts svg").first.get_attribute("aria-label")
    page.select_option("#dynamics-run", "fresh")
    page.fill("#dynamics-length", "1000")
    page.click("#dynamics-go")
    wait_for(page, "#problem", "length is 1000, must be at most 256")
    page.click("nav button >> nth=0")
    page.wait_for_selector("#problem", state="hidden")
    settle(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_and_has_names_for_everything(browser, address, scheme):
    page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    try:
        go(page, address, show="answer")
        assert page.locator("#tokens").bounding_box()["y"] < 300
        assert page.locator("#tokens").bounding_box()["y"] < page.locator("#controls").bounding_box()["y"]
        states = [
            {"source": "chain", "chainLength": 100, "show": show} for show in ("answer", "proof", "maps", "prediction")
        ]
        for state in (*states, {"page": "dynamics"}, {"page": "heads"}, {"tour": "what-follows-ba"}):
            go(page, address, **state)
            wide = page.evaluate("() => document.documentElement.scrollWidth")
            assert wide <= 390, state
        unnamed = page.evaluate(
            """() => [...document.querySelectorAll('button, input, select, textarea, canvas, svg, [role]')]
            .filter((e) => e.checkVisibility() && !(e.ariaLabel || e.textContent.trim() || e.labels?.length
                || e.closest('label') || e.getAttribute('aria-labelledby')))
            .map((e) => e.outerHTML.slice(0, 80))"""
        )
        assert unnamed == []
        background = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        assert (background == "rgb(246, 247, 248)") == (scheme == "light")
    finally:
        page.close()


def test_entries_that_cannot_be_opened_are_listed_with_the_reason(page, site, tmp_path):
    go(page, f"file://{site}/index.html")
    assert page.is_hidden("#left-out")
    (tmp_path / "bad<b>.safetensors").write_bytes(b"nothing")
    (tmp_path / "trajectory.npz").write_bytes(b"")
    with explorer([tmp_path]) as (url, _):
        go(page, f"{url}/")
        page.click("#left-out summary")
        assert page.inner_text("#left-out summary") == "2 entries of the folders cannot be opened"
        first, second = page.locator("#left-out li").all_inner_texts()
        assert re.match(rf"{tmp_path.name}/bad<b>\.safetensors: .*not a complete safetensors file", first)
        assert re.match(rf"{tmp_path.name}/trajectory\.npz: .*not a complete \.npz file", second)
        page.goto("about:blank")


def test_hostile_text_stays_text(page, address):
    go(page, address, text="aXaX")
    page.fill("#text", "<b>&\"'<b>&\"'<b>&")
    settle(page)
    assert page.locator("#tokens b b, #step b, #facts b, #question b").count() == 0


def test_odd_characters_stay_text(page, server):
    go(page, server, text="aXaX")
    page.fill("#text", json.loads('"<img src=x onerror=alert(1)>&\\"<b>\\u202e\\u0301\\n\\t<b>"'))
    settle(page)
    assert page.locator("#tokens img, #step img, #tokens b b, #question img").count() == 0


def test_a_prediction_after_a_new_window_is_not_called_counted(page, address):
    go(page, address, model="unrolled", text="wallet", position=3, show="answer")
    assert "l l has not been seen before" in page.inner_text("#counted")
    assert page.text_content("#predicted .promise").startswith("This window is new")
    assert page.text_content("#badge") == "nothing to check"
    go(page, address, model="bayes", text="abracadabra", position=10, show="answer")
    assert page.text_content("#predicted .promise").startswith("This is add-1 smoothing")
