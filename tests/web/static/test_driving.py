"""The page as used in class, from a server and from a file: keys, focus, tours, slides and sentences."""

from __future__ import annotations

import itertools
import re

import pytest
from axe_playwright_python.sync_playwright import Axe

from anyorder.web import schema
from anyorder.web.tours import shipped_tours
from tests.web.exploring import TEXT, TOKENS
from tests.web.static.test_page import chosen, go, settle, shown, wait_for

NEXT = "#next-step"
THINGS = ("#facts", ".words p", "#step .parts", "#attention", "#prediction")


def focused(page):
    return page.evaluate("() => document.activeElement.id || document.activeElement.dataset.position || ''")


def step(page):
    return int(page.text_content("#step h3").split(".")[0])


def test_a_whole_proof_is_walked_with_the_keyboard(page, address):
    go(page, address, position=20)
    count = page.locator("#steps button").count()
    place = page.locator(NEXT).bounding_box()
    page.focus(NEXT)
    for number in range(2, count + 1):
        page.keyboard.press("Enter")
        settle(page)
        assert (step(page), focused(page)) == (number, "next-step")
        assert page.locator(NEXT).bounding_box() == place
    page.keyboard.press("Enter")  # there is no further step
    assert (step(page), page.get_attribute(NEXT, "aria-disabled")) == (count, "true")
    for key, expected in (("p", count - 1), ("ArrowUp", count - 2), ("n", count - 1), ("ArrowDown", count)):
        page.keyboard.press(key)
        settle(page)
        assert (step(page), focused(page)) == (expected, "next-step")
    page.keyboard.press("ArrowLeft")
    settle(page)
    assert (chosen(page), focused(page)) == (19, "next-step")


def test_the_focus_survives_what_is_drawn_again(page, address):
    go(page, address, model="two-head", order=2, position=20)
    page.focus("#tokens [aria-selected=true]")
    for key in ("ArrowRight", "ArrowRight", "n", "End", "PageUp"):
        page.keyboard.press(key)
        settle(page)
        assert focused(page) == str(chosen(page))
    save = page.locator("#step figure button").first
    save.focus()
    page.keyboard.press("n")
    settle(page)
    assert page.evaluate("() => document.querySelector('#step').contains(document.activeElement)")
    page.click("#views [data-show=maps]")
    settle(page)
    page.locator("#maps select").focus()
    page.locator("#maps select").select_option("2")
    settle(page)
    assert page.evaluate("() => document.activeElement.getAttribute('aria-label')") == "head of layer 1"


def test_back_and_forward_walk_through_states(page, address):
    go(page, address, position=20)
    page.click(NEXT)
    settle(page)
    page.click("#tokens [data-position='17']")
    page.wait_for_selector("#tokens [data-position='17'][aria-selected=true]")
    settle(page)
    page.go_back()
    page.wait_for_selector("#tokens [data-position='20'][aria-selected=true]")
    assert step(page) == 2
    page.go_back()
    page.wait_for_selector("#steps li:first-child [aria-current=step]")
    page.go_forward()
    page.go_forward()
    page.wait_for_selector("#tokens [data-position='17'][aria-selected=true]")
    assert step(page) == 2


def test_a_step_lights_its_part_and_marks_its_key(page, address):
    n = 20
    go(page, address, position=n)
    lit, keys = [], []
    for number in range(6):
        page.locator("#steps button").nth(number).click()
        settle(page)
        lit.append(page.locator("#strip .lit").all_inner_texts())
        keys.append(shown(page, "key"))
        assert shown(page, "query") == [n - 1, n]
    assert [[name.split("\n")[0] for name in names] for names in lit] == [
        ["layer 1"], ["MLP"], ["MLP"], ["MLP"], ["layer 2"], ["layer 2", "prediction"],
    ]  # fmt: skip
    assert keys[0] == [n - 2, n - 1]
    assert keys[1] == [n - 2]
    matches = [i for i in range(2, n + 1) if TOKENS[i - 2 : i] == TOKENS[n - 1 : n + 1]]
    assert shown(page, "match") == matches
    assert keys[4] == keys[5] == sorted({match - back for match in matches for back in (1, 2)})


def test_the_query_lies_over_a_match_and_next_to_a_miss(page, address):
    go(page, address, position=20, step=4)
    match, miss = (page.locator(f"figure.{kind} svg") for kind in ("match", "miss"))
    pairs = [re.findall(r"(\S+) and (\S+?)(?:,|$)", one.get_attribute("aria-label")) for one in (match, miss)]
    assert all(u == v for u, v in pairs[0])
    assert any(u != v for u, v in pairs[1])
    assert "Equal. Score 1 kappa." in page.text_content("figure.match")
    assert "in units of kappa" in page.locator("#step figure svg").nth(2).text_content()


def test_rows_of_new_windows_are_blank_in_the_difference(page, address):
    go(page, address, position=20, show="maps")
    map_ = page.locator("#maps canvas").last
    map_.focus()
    map_.press("Home")
    for _ in range(17):
        map_.press("ArrowUp")
    assert page.text_content("#readout").startswith("query 3 (")  # "ra" for the first time
    assert page.text_content("#readout").endswith("difference –")


@pytest.mark.parametrize("tour", shipped_tours(), ids=lambda tour: tour.name)
def test_tours_lead_from_stop_to_stop(page, address, tour):
    page.goto(f"{address}#tour={tour.name}")
    for number, stop in enumerate(tour.stops, start=1):
        settle(page)
        assert page.text_content("#tour-count") == f"{number} of {len(tour.stops)}"
        assert page.text_content("#tour-text").split()[:3] == re.sub(r"[*`]", "", stop.sentence).split()[:3]
        assert f"stop={number - 1}" in page.url or number == 1
        if number < len(tour.stops):
            page.click("#next-stop")
    assert focused(page) == "next-stop"
    page.go_back()
    settle(page)
    assert page.text_content("#tour-count") == f"{len(tour.stops) - 1} of {len(tour.stops)}"
    page.click("#end-tour")
    assert page.is_hidden("#tour")


def test_a_stop_hides_its_answer_until_reveal(page, address):
    page.goto(f"{address}#tour=what-follows-ba")
    settle(page)
    assert page.is_visible("#tokens .match")
    assert page.locator("#legend .match").inner_text() == "letter that followed"
    assert page.locator("#tour .primary").all_inner_texts() == ["Reveal"]
    assert not any(page.is_visible(name) for name in ("#counted", "#looks", "#predicted"))
    assert "display: none" not in page.inner_html("#facts")
    page.click("#reveal")
    settle(page)
    counted = dict(re.findall(r"(\S)\xa0(\d)×", page.inner_text("#counts")))
    assert counted == {"r": "3", "␣": "1", "n": "1"}
    assert all(page.is_visible(name) for name in ("#looks", "#predicted"))
    assert page.is_hidden("#reveal")
    assert page.locator("#tour .primary:visible").all_inner_texts() == ["Next"]
    assert page.locator("#legend .match").inner_text().endswith("its bar is the attention of layer 2")
    page.go_back()
    page.wait_for_selector("#counted", state="hidden")
    page.click("#next-stop")
    settle(page)
    assert page.is_visible("#looks")
    assert page.is_hidden("#predicted")
    page.click("#end-tour")
    settle(page)
    assert page.is_visible("#predicted")


def test_an_address_may_open_a_stop_revealed(page, server):
    page.goto(f"{server}#tour=heads-of-a-language-model&stop=1&hide=none")
    settle(page)
    assert page.text_content("#tour-count") == "2 of 6"
    assert page.is_visible("#profile svg")
    assert page.is_hidden("#reveal")


def test_take_the_tour_is_a_button(page, address):
    page.goto(address)
    settle(page)
    page.get_by_role("button", name="Take the tour").click()
    settle(page)
    assert page.text_content("#tour-count") == "1 of 6"
    page.select_option("#tours", "what-one-layer-cannot")
    settle(page)
    assert page.text_content("#tour-title") == "What one layer cannot"


@pytest.mark.parametrize("tour", shipped_tours(), ids=lambda tour: tour.name)
def test_every_slide_fits_a_projector(page, server, tour):
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"{server}#tour={tour.name}&present=true")
    settle(page)
    stops = 1
    for _ in range(2 * len(tour.stops)):
        assert page.evaluate("() => document.documentElement.scrollHeight") <= 720
        figures = page.locator("main:visible").locator("figure:visible svg, canvas:visible, #predicted:visible svg")
        for figure in figures.all():
            box = figure.bounding_box()
            assert box["y"] + box["height"] <= 720, (stops, box)
            assert box["height"] >= 50, (stops, box)
        assert figures.count() or page.is_visible("#reveal") or page.is_visible("#tokens")
        stops = int(page.text_content("#tour-count").split()[0])
        page.keyboard.press(" ")
        settle(page)
    assert stops == len(tour.stops)


def test_presenting_is_one_thing_at_a_time_in_large_type(page, address):
    go(page, address, position=20, show="answer")
    size = "() => parseFloat(getComputedStyle(document.documentElement).fontSize)"
    plain = page.evaluate(size)
    page.click("#present")
    settle(page)
    assert page.evaluate(size) >= 1.3 * plain
    seen = []
    for key in ["ArrowRight", " ", "ArrowDown"] + ["PageDown"] * 12:
        things = [name for name in THINGS if page.locator(name).first.is_visible()]
        assert len(things) == 1
        assert page.is_hidden("#controls")
        assert page.is_hidden("#copy")
        assert page.evaluate("() => document.documentElement.scrollHeight") <= 900
        seen.append((step(page) if page.locator("#step h3").count() else 0, things[0]))
        page.keyboard.press(key)
        settle(page)
    assert [name for _, name in seen[:5]] == ["#facts", *[".words p", "#step .parts"] * 2]
    assert [number for number, _ in seen[1:5]] == [1, 1, 2, 2]
    assert [name for _, name in seen[-2:]] == ["#attention", "#prediction"]
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Escape")
    settle(page)
    assert page.is_visible("#controls")
    assert focused(page) == "present"


def test_a_phone_follows_a_presentation(page, server):
    page.set_viewport_size({"width": 390, "height": 844})
    for tour in (shipped_tours()[0], shipped_tours()[-1]):
        page.goto("about:blank")
        page.goto(f"{server}#tour={tour.name}&present=true")
        for number in range(len(tour.stops)):
            settle(page)
            assert page.text_content("#tour-count").startswith(f"{number + 1} of")
            assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
            boxes = [page.locator(name).bounding_box() for name in ("#tour", "main:visible", "#presenting")]
            assert all(above["y"] + above["height"] <= below["y"] + 1 for above, below in itertools.pairwise(boxes))
            pictures = page.locator("main:visible figure:visible svg").all()
            assert all(picture.bounding_box()["height"] > 60 for picture in pictures)
            if page.is_visible("#reveal"):
                page.click("#reveal")
                settle(page)
            if number < len(tour.stops) - 1:
                page.click("#next-stop")  # there are no arrow keys


def test_a_phone_turns_slides_without_a_tour(page, server):
    page.set_viewport_size({"width": 390, "height": 844})
    go(page, server, model="unrolled", text=schema.EXAMPLE, show="answer", present="true")
    seen = []
    for by in (1, 1, 1, -1, -1, -1):
        seen.append([name for name in THINGS if page.locator(name).first.is_visible()])
        page.click(f"#presenting [data-slide='{by}']")
        settle(page)
    assert seen == [["#facts"], [".words p"], ["#step .parts"], [".words p"], ["#step .parts"], [".words p"]]
    assert page.is_visible("#facts")


LETTERS = """() => Math.min(...[...document.querySelectorAll('main:not([hidden]) figure svg')]
    .filter((svg) => svg.checkVisibility()).flatMap((svg) => [...svg.querySelectorAll('text')]
    .map((text) => text.getAttribute('font-size') * svg.getScreenCTM().a)))"""


def test_slides_without_a_tour_are_read_from_afar(page, server):
    page.set_viewport_size({"width": 1280, "height": 720})
    pictures = "main:visible figure:visible svg, main:visible figure:visible canvas"
    for state in (*({"step": step, "show": "figures"} for step in range(4)), {"show": "maps"}, {"page": "dynamics"}):
        go(page, server, model="unrolled", text=schema.EXAMPLE, present="true", **state)
        assert page.evaluate("() => document.documentElement.scrollHeight") <= 720
        boxes = [one.bounding_box() for one in page.locator(pictures).all()]
        assert 1 <= len(boxes) <= 2, state
        assert all(box["y"] + box["height"] <= 720 for box in boxes), state
        assert "Point at a map" not in page.inner_text("main:visible")
        assert page.evaluate(LETTERS) >= 14 or state.get("show") == "maps", state
    assert page.text_content("#frame-step") == "step 400 of 400"


def test_a_chart_of_zeros_has_a_plain_scale(page, server):
    go(page, server, model="unrolled", position=20, step=1)
    left = page.locator("#step figure svg").last
    assert left.get_attribute("aria-label").startswith("remainder of")
    assert left.locator("text").all_text_contents()[:2] == ["0", "1"]
    go(page, server, model="unrolled", position=20, step=2, order=2)
    for label in page.locator("#step figure svg > text[text-anchor=end]").all():
        box, sheet = label.bounding_box(), label.locator("..").bounding_box()
        assert box["x"] >= sheet["x"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser, address, scheme):
    page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
    try:
        go(page, address, position=20, step=4, tour="what-follows-ba")
        found = violations(page)
        for view in ("answer", "maps", "prediction"):
            page.click(f"#views [data-show={view}]")
            settle(page)
            found += violations(page)
        page.click("#views [data-show=maps]")
        page.click("#maps figcaption button >> nth=0")
        found += violations(page)
        page.keyboard.press("Escape")
        for number in (1, 2):
            page.click(f"nav button >> nth={number}")
            settle(page)
            found += violations(page)
        page.click("nav button >> nth=0")
        page.click("#present")
        settle(page)
        found += violations(page)
        assert found == []
    finally:
        page.close()


def violations(page):
    return [
        (one["id"], [node["html"][:120] for node in one["nodes"]][:3]) for one in Axe().run(page).response["violations"]
    ]


def test_texts_hold_no_literal_markup(page, address):
    marked = re.compile(r"`|\*\w|[\w)]\^[({\w]|\w_[({\w]|\{\w+\}")
    for name in page_models(page, address):
        go(page, address, model=name, position=20)
        for button in page.locator("#steps button").all():
            button.click()
            settle(page)
            # Names of weights, and the axes of figures, are code.
            text = page.evaluate(
                """() => { const copy = document.querySelector("#stage").cloneNode(true);
                copy.querySelectorAll("code, svg").forEach((e) => e.remove()); return copy.textContent; }"""
            )
            assert not marked.findall(text), (name, marked.findall(text))


def page_models(page, address):
    go(page, address)
    return page.evaluate("() => [...document.querySelector('#model optgroup').children].map((o) => o.value)")[:6]


def test_the_dynamics_open_with_a_stored_run(page, address):
    page.goto(f"{address}#page=dynamics")
    settle(page)
    options = page.locator("#dynamics-run option").all_text_contents()
    for number, title in enumerate(options):
        if not title.startswith("Algorithm"):
            continue
        page.select_option("#dynamics-run", index=number)
        settle(page)
        algorithm, order = re.match(r"Algorithm (\d), (?:order|k =) (\d)", title).groups()
        assert page.text_content("#dynamics-standing dd") == f"{algorithm}, order {order}"
        assert page.input_value("#frame") == page.get_attribute("#frame", "max")
        assert "package/" not in page.inner_text("#dynamics-stage")
        assert "a2: how sharply layer 2 compares" in page.inner_text("#dynamics-about")
        offsets = "offset 1" if order == "1" else f"offsets 1 … {order}"
        assert f"Attention at {offsets}" in page.locator(".charts .name").all_text_contents()
    assert page.locator(".charts svg").count() == 4


def test_a_model_with_another_alphabet_brings_a_sequence_that_fits(page, address):
    go(page, address, text=TEXT)
    page.select_option("#model", "stored:package/trained-order-2.safetensors")
    settle(page)
    assert page.is_hidden("#problem")
    assert set(page.locator("#tokens [role=option]").all_text_contents()) == {"0", "1"}
    assert page.text_content("#badge") == "no certificate"
    titles = page.locator("#model optgroup option").all_text_contents()
    assert "trained on order 2, gap +0.0005 nats" in titles


def test_words_for_errors_follow_their_size(page, address):
    go(page, address)
    assert page.text_content("#badge") == "exact"
    colours = {page.evaluate("() => getComputedStyle(document.querySelector('#badge')).borderColor")}
    page.locator("#temperature").fill("1.5")
    wait_for(page, "#badge", "within its bound")
    words = page.text_content("#verdict-words")
    assert page.text_content("#error") in words
    assert page.text_content("#bound") in words
    colours.add(page.evaluate("() => getComputedStyle(document.querySelector('#badge')).borderColor"))
    page.locator("#temperature").fill("10")
    wait_for(page, "#badge", "beyond")
    colours.add(page.evaluate("() => getComputedStyle(document.querySelector('#badge')).borderColor"))
    assert len(colours) == 3


def test_a_verdict_leaves_with_its_model(page, server):
    go(page, server, show="prediction")
    page.click("#verify")
    wait_for(page, "#verified", "Worst error")
    page.route("**/api/view", lambda route: None)  # never answered
    page.select_option("#model", "k-head")
    assert page.text_content("#badge") == "…"
    assert page.locator("#verified").count() == 0


def test_long_sequences_load_only_what_is_looked_at(page, server):
    asked = []
    page.on("request", lambda request: asked.append(request.url.rsplit("/", 1)[-1]))
    go(page, server, source="chain", chainLength=512, order=1, chainOrder=1)
    assert asked.count("view") == 1
    assert asked.count("map") == 0
    page.click("#views [data-show=maps]")
    page.wait_for_function("() => performance.getEntriesByType('resource').some((e) => e.name.endsWith('/api/map'))")


def test_the_static_page_needs_no_network(browser, site):
    context = browser.new_context(offline=True)
    page = context.new_page()
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    try:
        go(page, f"file://{site}/index.html", position=20)
        page.select_option("#model", "k-head")
        settle(page)
        page.fill("#text", "abracadabra bad car cab")
        page.select_option("#dtype", "float32")
        settle(page)
        assert all(url.startswith(("file://", "data:", "blob:")) for url in requests)
        assert page.evaluate("() => document.querySelectorAll('script[type=module]').length") == 0
    finally:
        context.close()
