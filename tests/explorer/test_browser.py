"""The page in a real browser, as a user meets it."""

import dataclasses
import re

import numpy as np
import pytest

import dynafield as df
from dynafield.explorer.presets import PRESETS
from dynafield.explorer.rules import network_of, read_view, task_of
from dynafield.explorer.setting import AXES, Setting, View
from tests.explorer.browser import chromium, serving

SECONDS = 90_000
"""Milliseconds to wait for anything; compiling on a busy machine is the longest."""
WIDE, NARROW = 1400, 420
"""Pixels of a window."""
START = Setting(t_max=20.0, tol=0.05)
"""A problem that is solved in a moment; opening a page takes many times as long."""
FIELDS = ("alpha", "lam", "delta", "sigma", "prior", "t_max")
"""Fields in which a page that was used is brought back to `START`; for other changes it is loaded anew."""


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

    def __init__(self, browser, address, query="", width=WIDE):
        self.context = browser.new_context(viewport={"width": width, "height": 1000}, accept_downloads=True)
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page = self.context.new_page()
        self.page.set_default_timeout(SECONDS)
        self.requests, self.complaints = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type == "error" else None)
        self.home = address
        self.open(query)

    def open(self, query):
        """Load the page by a link."""
        self.page.goto(self.home + query)
        self.page.wait_for_selector(".preset select")

    def shown(self):
        """The view that the address names; it follows a second after the last change."""
        return read_view(self.page.url.partition("?")[2])

    def begin(self):
        """Go back to `START` in a wide window, and wait for the curve."""
        self.page.set_viewport_size({"width": WIDE, "height": 1000})
        self.page.evaluate("window.scrollTo(0, 0)")
        view, wanted = self.shown(), START.texts()
        same = dataclasses.replace(view.setting, **{name: getattr(START, name) for name in FIELDS})
        fields = [name for name in FIELDS if self.value(name) != wanted[name]]
        if view._replace(setting=same, at=View().at) != View(START):
            self.open("?" + START.query())
        elif fields:
            for name in fields:
                self.type(name, wanted[name])
            self.page.wait_for_url(lambda url: self.shown().setting == START)
        self.wait("solved")

    def wait(self, pattern, where=".status"):
        """Until the text of a part of the page matches; that text."""
        found = self.page.wait_for_function(SEEN, arg=[where, pattern], polling=50)
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

    def make(query=""):
        opened.append(Tab(browser, address, query))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


@pytest.fixture(scope="module")
def pages(browser, address):
    """The page that most tests go on with: opening one takes longer than what they do with it."""
    opened = []
    yield opened
    for one in opened:
        one.close()


@pytest.fixture
def used(pages, browser, address, request):
    """That page as the last test has left it, opened on a narrow screen; a new one after a failure."""
    if not pages:
        pages.append(Tab(browser, address, "?" + START.query(), width=NARROW))
    failed = request.session.testsfailed
    yield pages[0]
    if request.session.testsfailed > failed:
        pages.pop().context.close()


@pytest.fixture
def one(used):
    """That page at `START`."""
    used.begin()
    return used


def row(tab, name):
    """A number of the table."""
    text = tab.wait(re.escape(name), ".rows")
    return float(re.search(rf"{re.escape(name)}\s+([-\d.e+]+)", text)[1])


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_the_page_fits_its_window(used, width):
    """As it was opened, and when the window has another width."""
    used.wait("solved")
    used.page.set_viewport_size({"width": width, "height": 1000})
    controls, plot = (used.page.locator(name).first for name in (".controls", ".bk-Figure"))
    for _ in range(SECONDS // 50):
        whole = used.page.evaluate("document.documentElement.scrollWidth")
        bar, picture = controls.bounding_box(), plot.bounding_box()
        side_by_side = picture["x"] > bar["width"]
        if whole <= width + 2 and side_by_side == (width > 760) and picture["width"] > 280:
            break
        used.page.wait_for_timeout(50)
    assert whole <= width + 2
    assert side_by_side == (width > 760)
    assert picture["width"] > 280
    for box in used.page.locator(".controls :is(input, select, button)").all():
        place = box.bounding_box()
        if place is not None:
            assert place["x"] >= bar["x"]
            assert place["x"] + place["width"] <= bar["x"] + bar["width"] + 1, box


def test_time_moves_the_histogram_and_nothing_else(one):
    before = row(one, "test error at T")
    one.drag("time", 0.1)
    one.wait(r"at t = 0\.\d", ".time-words")
    one.page.wait_for_url("**at=0.1**")
    assert row(one, "test error at T") == before


MUTED = """(wanted) => {
  const models = Bokeh.documents.flatMap((one) => [...one._all_models.values()])
  const own = models.filter((m) => m.type == 'GlyphRenderer' && m.name == 'own')
  return own.length > 0 && own.every((m) => m.muted == wanted)
}"""
"""Whether everything of the present curve is grey, or nothing of it."""
SAID = """() => {
  const models = Bokeh.documents.flatMap((one) => [...one._all_models.values()])
  const own = models.find((m) => m.type == 'GlyphRenderer' && m.name == 'own')
  const state = models.find((m) => [...(m.css_classes || [])].includes('status'))
  window.said = []
  window.watch = setInterval(() => window.said.push([own.muted, state.text]), 5)
}"""
"""Keeps what the status says, and whether the curve is grey."""


def test_on_a_narrow_screen_the_curve_is_in_sight_and_grey_while_dragging(one):
    one.page.set_viewport_size({"width": NARROW, "height": 1000})
    one.page.wait_for_function("width => document.documentElement.scrollWidth <= width + 2", arg=NARROW)
    one.page.mouse.move(NARROW / 2, 500)
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


def test_dragging_typing_and_refusing(one):
    one.drag("alpha", 0.3)
    one.page.wait_for_url(re.compile("alpha=0.0[23]"))
    shown = one.value("alpha")
    alpha = float(shown)
    assert alpha == pytest.approx(1e-3 * 1e5**0.3, rel=0.1)
    one.wait("solved")
    end = float(df.fixed_point(task_of(START), df.DiagonalNetwork(alpha)).test_error)
    one.wait(re.escape(f"{end:.6g}"), ".rows")
    one.type("delta", "0.8")
    one.page.wait_for_url("**delta=0.8**")
    one.wait("solved")
    assert f"alpha={alpha:g}&lam=0&delta=0.8&" in one.page.url
    exact = df.solve(df.Task(0.8, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(alpha), 20.0, tol=START.tol)
    seen = row(one, "test error at T")  # to three digits
    assert seen == pytest.approx(float(exact.test_error[-1]), rel=5e-3)
    one.type("alpha", "-2")
    assert "alpha must be" in one.wait("alpha must", ".trouble")
    assert one.has("alpha", shown), "what is refused stays as it was"
    one.type("sparsity", "0.25")
    one.page.wait_for_url("**bernoulli:0.25**")
    assert one.has("prior", "bernoulli:0.25")
    one.type("prior", "empirical:/etc/passwd")
    one.wait("prior must be bernoulli", ".trouble")


def test_finite_networks_are_added_stopped_and_downloaded(one, tmp_path):
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
    exact = df.solve(task_of(START), network_of(START), START.t_max, tol=START.tol)
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


def test_tabs_do_not_see_each_other_and_closed_ones_stop(one, browser, address):
    gone = Tab(browser, address)
    one.type("alpha", "0.07")
    one.page.wait_for_url("**alpha=0.07**")
    one.wait("solved")
    assert gone.value("alpha") == "0.5"
    gone.type("alpha", "0.003")
    gone.type("t_max", "900")
    gone.page.locator(".field-tol select").select_option("0.1 %")
    gone.page.wait_for_url("**alpha=0.003&**t_max=900&tol=0.001**")
    gone.wait("full accuracy: ")
    assert one.value("alpha") == "0.07"
    gone.close()
    one.type("alpha", "0.9")
    one.page.wait_for_url("**alpha=0.9**")
    one.wait("solved")  # in SECONDS, while the curve of the closed tab would take minutes


def test_a_link_reproduces_the_view(one, tab):
    pins = Setting(alpha=2.0, t_max=20.0, tol=0.05), Setting(alpha=0.3, sigma=0.2, t_max=20.0, tol=0.05)
    one.type("alpha", "2")
    one.page.wait_for_url("**alpha=2&**")
    one.click("keep")
    one.page.wait_for_url("**pin=**")
    one.type("alpha", "0.3")
    one.type("sigma", "0.2")
    one.drag("time", 0.5)
    one.page.locator(".axis select").select_option(AXES["delta"])
    one.page.wait_for_url("**sigma=0.2**axis=delta**at=0.5**")
    one.wait("solved")
    one.click("keep")
    one.page.wait_for_url("**pin=*pin=*")
    link = one.copied("link")
    assert read_view(link.partition("?")[2]) == View(pins[1], pins, "delta", 0.5)
    second = tab("?" + link.partition("/?")[2])
    second.wait("solved")
    assert second.has("sigma", "0.2")
    assert row(second, "test error at T") == row(one, "test error at T")
    assert second.page.locator(".axis select").input_value() == AXES["delta"]
    code = second.copied("python")
    assert code.count("df.solve") == 3
    assert second.copied("cli").startswith("dynafield solve --alpha 0.3 ")
    one.click("clear")
    one.page.wait_for_url(lambda url: read_view(url.partition("?")[2]).pins == ())
    one.page.locator(".axis select").select_option(AXES[View().axis])
    one.page.wait_for_url(f"**axis={View().axis}**")


def test_scales_trainers_and_kernels(one):
    one.page.locator(".scale button", has_text="linear").click()
    one.page.wait_for_url("**scale=linear**")
    one.page.locator(".kernel select").select_option("residuals, C_f(t, s)")
    one.page.wait_for_url("**kernel=C_f**")
    one.page.locator(".trainer select").select_option("heavy ball (momentum)")
    assert one.has("momentum", "0.9")
    one.wait("solved")  # on a busy machine the page may still be writing into the fields
    one.type("t_max", "2.04")
    one.wait("T is now 2: 20 steps", ".trouble")
    one.page.wait_for_url(re.compile(r"t_max=2&.*step=0\.1"))
    one.wait("solved")
    one.wait("not shown: the rate γ is that of gradient flow", ".limit-note")
    assert "stage:" not in one.wait("not shown", ".rows")
    exact = df.solve(task_of(START), network_of(START), 2.0, tol=START.tol, trainer=df.HeavyBall(0.1, 0.9))
    assert row(one, "test error at T") == pytest.approx(float(exact.test_error[-1]), rel=1e-3)


MARKED = """([x]) => {
  const models = Bokeh.documents.flatMap((one) => [...one._all_models.values()])
  const marks = models.filter((m) => m.type == 'ColumnDataSource' && 'words' in m.data)
  const seen = marks.flatMap((m) => [...m.data.x])
  return x === null ? seen.length == 0 : seen.length == 1 && Math.abs(seen[0] / x - 1) < 2e-3
}"""
"""Whether the picture of fixed points has a mark of the best at x, or none for null; x has three digits."""


def test_the_best_number_is_said_marked_and_forgotten(one):
    """`test_setting.py` compares what is said here, and all digits, with the library."""
    one.type("sigma", "0.3")
    one.page.wait_for_url("**sigma=0.3**")
    one.wait("best α", ".find")
    one.click("find")
    one.wait("best α = 0.591, test error 0.228", ".best")
    assert one.has("alpha", "0.591")
    alpha = 0.591
    gamma = float(df.convergence_rate(df.Task(0.5, 0.3, df.Bernoulli(0.1)), df.DiagonalNetwork(alpha)).gamma)
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
    lam = re.search(r"best λ = ([\d.]+)", one.wait("best λ = ", ".best"))[1]
    one.page.wait_for_function(MARKED, arg=[float(lam)])
    assert one.has("lam", lam)
    one.page.locator(".preset select").select_option("grokking")
    one.page.wait_for_function(MARKED, arg=[None])


@pytest.mark.parametrize(
    "names", [("lazy",), pytest.param(tuple(PRESETS), marks=pytest.mark.slow)], ids=["one", "all"]
)
def test_presets_show_what_they_promise(used, names):
    for name in names:
        used.page.locator(".preset select").select_option(name)
        used.wait(re.escape(PRESETS[name].words[:20]), ".trouble")
        used.page.wait_for_url("**" + PRESETS[name].view.setting.query() + "**")
        used.wait("solved")
        shown = read_view(used.page.url.partition("?")[2])
        assert shown == PRESETS[name].view


def test_a_bad_link_shows_the_default_and_says_why(tab):
    """Others are read in `test_setting.py`; this one would be a program if the page took it for HTML."""
    one = tab("?alpha=<script>alert(1)</script>")
    words = one.wait("The link was not understood", ".trouble")
    assert "alpha must be a number" in words
    assert one.has("alpha", "0.5")
