"""The page in a real browser, as a user meets it."""

import re
import time

import numpy as np
import pytest

import dynafield as df
from dynafield.explorer.presets import PRESETS
from dynafield.explorer.rules import network_of, read_view, task_of
from dynafield.explorer.setting import AXES, Setting, View
from tests.explorer.browser import chromium, serving

SECONDS = 90_000
"""Milliseconds to wait for anything; compiling on a busy machine is the longest."""


@pytest.fixture(scope="module")
def address():
    chromium()
    with serving() as place:
        yield place


@pytest.fixture(scope="module")
def browser():
    path = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        made = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield made
        made.close()


SEEN = """([where, pattern]) => {
  const find = (root) => {
    const direct = root.querySelector(where)
    if (direct) return direct
    for (const inner of root.querySelectorAll('*')) {
      const found = inner.shadowRoot && find(inner.shadowRoot)
      if (found) return found
    }
    return null
  }
  const text = (node) => node.nodeType == 3 ? node.data : node.tagName == 'STYLE' ? '' :
    [...(node.shadowRoot ? node.shadowRoot.childNodes : []), ...node.childNodes].map(text).join(' ')
  const element = find(document)
  const seen = element ? text(element) : ''
  return new RegExp(pattern).test(seen) ? seen : null
}"""
"""The text of the first element of a class if it matches, through all shadow roots."""


class Tab:
    """One tab with its requests and complaints."""

    def __init__(self, browser, address, query="", width=1400):
        self.context = browser.new_context(viewport={"width": width, "height": 1000}, accept_downloads=True)
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page = self.context.new_page()
        self.page.set_default_timeout(SECONDS)
        self.requests, self.complaints = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type == "error" else None)
        self.home = address
        self.page.goto(address + query)
        self.page.wait_for_selector(".preset select")

    def wait(self, pattern, where=".status"):
        """Until the text of a part of the page matches; that text."""
        found = self.page.wait_for_function(SEEN, arg=[where, pattern])
        return found.json_value()

    def type(self, name, text):
        field = self.page.locator(f".field-{name} input")
        field.fill(text)
        field.press("Enter")

    def value(self, name):
        return self.page.locator(f".field-{name} input").input_value()

    def has(self, name, wanted):
        """Whether a field comes to have a value; the page may answer in several messages."""
        for _ in range(SECONDS // 50):
            if self.value(name) == wanted:
                return True
            self.page.wait_for_timeout(50)
        return False

    def drag(self, name, share):
        """Drag a slider to a share of its length, in several moves of the mouse."""
        handle = self.page.locator(f".slider-{name} .noUi-handle")
        bar = self.page.locator(f".slider-{name} .noUi-target")
        box, grip = bar.bounding_box(), handle.bounding_box()
        y = grip["y"] + grip["height"] / 2
        self.page.mouse.move(grip["x"] + grip["width"] / 2, y)
        self.page.mouse.down()
        self.page.mouse.move(box["x"] + share * box["width"], y, steps=12)
        self.page.mouse.up()

    def click(self, name):
        self.page.locator(f".{name} button").click()

    def copied(self, name):
        self.click(f"copy-{name}")
        self.wait("copied", f".copy-{name}")
        return self.page.evaluate("navigator.clipboard.readText()")

    def close(self):
        self.context.close()
        foreign = [u for u in self.requests if not u.startswith((self.home, "data:", "blob:"))]
        assert not foreign, "everything must come from this machine"
        assert not self.complaints


@pytest.fixture
def tab(browser, address):
    opened = []

    def make(query="", **more):
        opened.append(Tab(browser, address, query, **more))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def row(tab, name):
    """A number of the table."""
    text = tab.wait(re.escape(name), ".rows")
    return float(re.search(rf"{re.escape(name)}\s+([-\d.e+]+)", text)[1])


def test_dragging_typing_and_refusing(tab):
    one = tab()
    one.wait("solved")
    one.drag("alpha", 0.3)
    one.page.wait_for_url(re.compile("alpha=0.0[23]"))
    shown = one.value("alpha")
    alpha = float(shown)
    assert alpha == pytest.approx(1e-3 * 1e5**0.3, rel=0.1)
    one.wait("solved")
    end = float(df.fixed_point(task_of(Setting()), df.DiagonalNetwork(alpha)).test_error)
    one.wait(re.escape(f"{end:.6g}"), ".rows")
    one.type("delta", "0.8")
    one.page.wait_for_url("**delta=0.8**")
    one.wait("solved")
    assert f"alpha={alpha:g}&lam=0&delta=0.8&" in one.page.url
    exact = df.solve(df.Task(0.8, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(alpha), 100.0, tol=3e-3)
    assert row(one, "test error at T") == pytest.approx(float(exact.test_error[-1]), rel=1e-3)
    one.type("alpha", "-2")
    assert "alpha must be" in one.wait("alpha must", ".trouble")
    assert one.has("alpha", shown), "what is refused stays as it was"
    one.type("sparsity", "0.25")
    one.page.wait_for_url("**bernoulli:0.25**")
    assert one.has("prior", "bernoulli:0.25")
    one.type("prior", "empirical:/etc/passwd")
    one.wait("prior must be bernoulli", ".trouble")


def test_a_link_reproduces_the_view(tab):
    view = View(Setting(alpha=0.3, t_max=20.0), (Setting(alpha=2.0, t_max=20.0),), "delta", 0.5)
    first = tab("?" + view.query())
    first.wait("solved")
    first.type("sigma", "0.2")
    first.page.wait_for_url("**sigma=0.2**")
    first.wait("solved")
    first.click("keep")
    first.page.wait_for_url("**pin=*pin=*")
    link = first.copied("link")
    assert read_view(link.partition("?")[2]).pins == (view.pins[0], Setting(alpha=0.3, sigma=0.2, t_max=20.0))
    second = tab(link.partition("/?")[2] and "?" + link.partition("?")[2])
    second.wait("solved")
    assert second.has("sigma", "0.2")
    assert row(second, "test error at T") == row(first, "test error at T")
    assert second.page.locator(".axis select").input_value() == AXES["delta"]
    code = second.copied("python")
    assert code.count("df.solve") == 3
    assert second.copied("cli").startswith("dynafield solve --alpha 0.3 ")


@pytest.mark.parametrize(
    "query", ["?alpha=-3", "?alpha=<script>alert(1)</script>", "?foo=1", "?pin=%00&depth=x"]
)
def test_a_bad_link_shows_the_default_and_says_why(tab, query):
    one = tab(query)
    words = one.wait("The link was not understood", ".trouble")
    assert "must" in words or "may" in words
    assert one.has("alpha", "0.5")


def test_finite_networks_are_added_stopped_and_downloaded(tab, tmp_path):
    one = tab("?t_max=20&tol=0.01")
    one.wait("solved")
    one.type("d", "100")
    one.type("runs", "4")
    one.click("add")
    one.wait("4 networks of n = 50, d = 100", ".training")
    with one.page.expect_download() as got:
        one.page.locator(".files a", has_text="networks").click()
    got.value.save_as(tmp_path / "runs.nc")
    runs = df.load(tmp_path / "runs.nc")
    assert (runs.d, runs.count) == (100, 4)
    with one.page.expect_download() as got:
        one.page.locator(".files a", has_text="curve").click()
    got.value.save_as(tmp_path / "curve.nc")
    exact = df.solve(task_of(Setting()), network_of(Setting()), 20.0, tol=0.01)
    np.testing.assert_allclose(df.load(tmp_path / "curve.nc").test_error, exact.test_error, rtol=1e-9)
    with one.page.expect_download() as got:
        one.page.locator(".files a", has_text="PNG").click()
    got.value.save_as(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    one.type("d", "1500")
    one.type("runs", "50")
    one.click("add")
    one.wait("runs", ".training")
    one.click("stop")
    one.page.wait_for_selector(".stop button[disabled]", state="attached")
    one.page.wait_for_url(lambda url: "d=1500" not in url)
    one.type("d", "9")
    one.click("add")
    one.wait("d must be", ".trouble")


@pytest.mark.parametrize(
    "names", [("lazy",), pytest.param(tuple(PRESETS), marks=pytest.mark.slow)], ids=["one", "all"]
)
def test_presets_show_what_they_promise(tab, names):
    one = tab()
    for name in names:
        one.page.locator(".preset select").select_option(name)
        one.wait(re.escape(PRESETS[name].words[:20]), ".trouble")
        one.page.wait_for_url("**" + PRESETS[name].view.setting.query() + "**")
        one.wait("solved")
        shown = read_view(one.page.url.partition("?")[2])
        assert shown == PRESETS[name].view


def test_time_moves_the_histogram_and_nothing_else(tab):
    one = tab("?t_max=20&tol=0.05")
    one.wait("solved")
    before = row(one, "test error at T")
    one.drag("time", 0.1)
    one.wait(r"at t = 0\.\d", ".time-words")
    one.page.wait_for_url("**at=0.1**")
    assert row(one, "test error at T") == before


@pytest.mark.parametrize("width", [1400, 420])
def test_the_page_fits_its_window(tab, width):
    one = tab("?t_max=20&tol=0.05", width=width)
    one.wait("solved")
    assert one.page.evaluate("document.documentElement.scrollWidth") <= width + 2
    controls, plot = (one.page.locator(name).first.bounding_box() for name in (".controls", ".bk-Figure"))
    assert (plot["x"] > controls["width"]) == (width > 760)
    assert plot["width"] > 280
    for box in one.page.locator(".controls :is(input, select, button)").all():
        place = box.bounding_box()
        if place is not None:
            assert place["x"] >= controls["x"]
            assert place["x"] + place["width"] <= controls["x"] + controls["width"] + 1, box


MUTED = """(wanted) => {
  const models = Bokeh.documents.flatMap((one) => [...one._all_models.values()])
  const own = models.filter((m) => m.type == 'GlyphRenderer' && m.name == 'own')
  return own.length > 0 && own.every((m) => m.muted == wanted)
}"""
"""Whether everything of the present curve is grey, or nothing of it."""
SAID = """() => { window.said = []; window.watch = setInterval(() => {
  const models = Bokeh.documents.flatMap((one) => [...one._all_models.values()])
  const own = models.find((m) => m.type == 'GlyphRenderer' && m.name == 'own')
  const state = models.find((m) => [...(m.css_classes || [])].includes('status'))
  window.said.push([own.muted, state.text])
}, 5) }"""
"""Keeps what the status says, and whether the curve is grey."""


def test_on_a_narrow_screen_the_curve_is_in_sight_and_grey_while_dragging(tab):
    one = tab("?t_max=20&tol=0.05", width=420)
    one.wait("solved")
    one.page.mouse.wheel(0, 200)
    one.page.wait_for_function("window.scrollY > 100")
    one.page.evaluate(SAID)
    handle, bar = (one.page.locator(f".slider-sigma .noUi-{name}") for name in ("handle", "target"))
    box, grip = bar.bounding_box(), handle.bounding_box()
    y = grip["y"] + grip["height"] / 2
    one.page.mouse.move(grip["x"] + grip["width"] / 2, y)
    one.page.mouse.down()
    one.page.mouse.move(box["x"] + 0.6 * box["width"], y, steps=5)
    one.page.wait_for_function(MUTED, arg=True)
    plot = one.page.locator(".plot-curves").first.bounding_box()
    assert plot["y"] >= 0, "the curve stays in sight"
    assert plot["y"] + plot["height"] < y, "and does not cover the slider"
    one.page.mouse.up()
    one.page.wait_for_url("**sigma=0.6**")
    one.wait("solved")
    one.page.wait_for_function(MUTED, arg=False)
    said = one.page.evaluate("clearInterval(window.watch) || window.said")
    assert any(muted for muted, _ in said)
    assert not [text for muted, text in said if muted and "solved" in text], "grey is never called solved"


def test_scales_trainers_and_kernels(tab):
    one = tab("?t_max=20&tol=0.05")
    one.wait("solved")
    one.page.locator(".scale button", has_text="linear").click()
    one.page.wait_for_url("**scale=linear**")
    one.page.locator(".kernel select").select_option("residuals, C_f(t, s)")
    one.page.wait_for_url("**kernel=C_f**")
    one.page.locator(".trainer select").select_option("heavy ball (momentum)")
    assert one.has("momentum", "0.9")
    one.type("t_max", "2.04")
    one.wait("T is now 2: 20 steps", ".trouble")
    one.wait("solved")
    assert "step=0.1" in one.page.url
    one.wait("not shown: the rate γ is that of gradient flow", ".limit-note")
    assert "stage:" not in one.wait("not shown", ".rows")
    exact = df.solve(task_of(Setting()), network_of(Setting()), 2.0, tol=0.05, trainer=df.HeavyBall(0.1, 0.9))
    assert row(one, "test error at T") == pytest.approx(float(exact.test_error[-1]), rel=1e-3)


def test_tabs_do_not_see_each_other_and_closed_ones_stop(tab, browser, address):
    one, other = tab(), tab()
    one.type("alpha", "0.07")
    one.wait("solved")
    assert other.has("alpha", "0.5")
    gone = Tab(browser, address, "?alpha=0.003&t_max=900&tol=0.001")
    gone.wait("full accuracy: ")
    gone.close()
    began = time.monotonic()
    other.type("alpha", "0.9")
    other.wait("solved")
    assert time.monotonic() - began < 60, "the curve of the closed tab would take minutes"


MARKED = """([x]) => {
  const models = Bokeh.documents.flatMap((one) => [...one._all_models.values()])
  const marks = models.filter((m) => m.type == 'ColumnDataSource' && 'words' in m.data)
  const seen = marks.flatMap((m) => [...m.data.x])
  return x === null ? seen.length == 0 : seen.length == 1 && Math.abs(seen[0] / x - 1) < 1e-6
}"""
"""Whether the picture of fixed points has a mark of the best at x, or none for null."""


def test_the_best_number_is_said_marked_and_forgotten(tab):
    one = tab("?sigma=0.3&t_max=20&tol=0.05")
    one.wait("solved")
    task = df.Task(0.5, 0.3, df.Bernoulli(0.1))
    alpha = df.optimize(task, df.DiagonalNetwork(1.0)).best["alpha"]
    one.wait("best α", ".find")
    one.click("find")
    one.wait("best α = 0.591, test error 0.228", ".best")
    assert one.has("alpha", "0.591")
    gamma = float(df.convergence_rate(task, df.DiagonalNetwork(alpha)).gamma)
    one.page.wait_for_function(MARKED, arg=[gamma])
    one.page.locator(".axis select").select_option(AXES["alpha"])
    one.page.wait_for_function(MARKED, arg=[alpha])
    one.type("alpha", "2")
    one.page.wait_for_url("**alpha=2&**")
    one.page.wait_for_function(MARKED, arg=[alpha])
    one.wait("best α = 0.591", ".best")
    one.type("sigma", "0.2")
    one.page.wait_for_function(MARKED, arg=[None])
    assert one.wait(r"^\s*$", ".best").strip() == ""
    one.page.locator(".axis select").select_option(AXES["lam"])
    one.type("lam", "0.1")
    one.wait("best λ", ".find")
    one.click("find")
    lam = df.optimize(df.Task(0.5, 0.2, df.Bernoulli(0.1)), df.DiagonalNetwork(1.0), "lam").best["lam"]
    one.wait("best λ = ", ".best")
    one.page.wait_for_function(MARKED, arg=[lam])
    assert one.has("lam", f"{lam:.3g}")
    one.page.locator(".preset select").select_option("grokking")
    one.page.wait_for_function(MARKED, arg=[None])


def test_a_pin_that_cannot_be_solved_leaves_the_rest_alone(tab):
    one = tab("?t_max=20&tol=0.05&pin=step%3D2500%26t_max%3D1e6%26lam%3D0.1")
    one.wait("a pinned curve: training blew up", ".trouble")
    one.wait("solved")
    assert row(one, "test error at T") < 0.11
