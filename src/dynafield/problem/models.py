r"""Ready-made models, each a few lines; their numbers may be arrays."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dynafield.errors import InputError
from dynafield.problem.checks import flag_or_none, one_real, real, shown
from dynafield.problem.laws import FromNormals, RowLaw, start_law, z_law
from dynafield.problem.model import Datum, Model, SquaredLoss
from dynafield.problem.networks import Network

__all__ = [
    "NetworkFlow",
    "Ridge",
    "diagonal_flow",
    "huber_flow",
    "logistic_flow",
    "phase_retrieval_flow",
    "ridge_flow",
]


def written(value: Any) -> str:
    """A number as text, or the first and last entry of an array."""
    values = np.asarray(value, float)
    return f"{values:g}" if values.ndim == 0 else f"{np.min(values):g} … {np.max(values):g}"


class Regression(Model):
    r"""Models linear in their parameters with weight decay: \(w = \theta\), \(p = -(g + \lambda\theta)\)."""

    lam: Any
    theta0: Any
    z: Any
    names: ClassVar[tuple[str, ...]] = ("lam",)
    words: ClassVar[str]

    def __init__(self, lam: Any, theta0: Any, z: Any = None):
        self.lam = real("lam", lam, lambda x: x >= 0, "finite and ≥ 0")
        self.theta0, self.z = theta0, z
        shape = start_law(theta0).shape
        if shape:
            raise InputError(f"theta0 must be a number or the distribution of one, got shape {shape}")

    def numbers(self) -> dict[str, Any]:
        """λ and the other numbers of the model, which may be arrays, by name."""
        return {name: getattr(self, name) for name in self.names}

    @property
    def state_shape(self) -> tuple[int, ...]:
        """θ is one number."""
        return ()

    @property
    def channels(self) -> tuple[int, ...]:
        """There is one channel."""
        return ()

    @property
    def rotates(self) -> bool:
        """All coordinates move alike."""
        return True

    @property
    def smooth(self) -> bool:
        """ℓ and p have no jumps."""
        return True

    @property
    def start(self) -> RowLaw:
        """The distribution of θ at t = 0."""
        return start_law(self.theta0)

    @property
    def own(self) -> RowLaw:
        """The distribution of z."""
        return z_law(self.z)

    @property
    def name(self) -> str:
        """The model in words, with its weight decay."""
        return f"{self.words}, λ={written(self.lam)}"

    def w(self, theta: Any, t: Any = 0.0) -> Any:
        """θ itself."""
        return theta

    def p(self, g: Any, theta: Any, t: Any = 0.0) -> Any:
        """Minus the gradient, with weight decay."""
        return -(g + self.lam * theta)


class Ridge(Regression, SquaredLoss):
    r"""Linear regression, \(\ell = f - y\)."""

    words = "ridge regression"

    @property
    def odd(self) -> bool:
        """All functions are odd."""
        return True


class Logistic(Regression):
    r"""Logistic regression with labels \(y = \mathrm{sign}(f^* + \xi)\)."""

    words = "logistic regression"

    def check_labels(self, y: Any) -> None:
        """InputError unless all labels are -1 or 1."""
        if not np.all(np.abs(y) == 1):
            wrong = np.asarray(y)[np.abs(y) != 1][0]
            raise InputError(f"y must be -1 or 1 for the logistic loss, got {wrong:g}")

    def ell(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        """-y/(1 + e^(yf))."""
        y = label(datum)
        return -y * jax.nn.sigmoid(-y * f)

    def loss(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        """log(1 + e^(-yf))."""
        return jax.nn.softplus(-label(datum) * f)

    def error(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        """Whether the sign of f is wrong."""
        return 0.5 * (1.0 - label(datum) * jnp.sign(f))


class Huber(Regression):
    """Robust regression: the slope of the loss stops growing at `bend`."""

    bend: Any
    words = "Huber regression"
    names = ("lam", "bend")

    def __init__(self, bend: Any, lam: Any, outliers: Any, theta0: Any):
        super().__init__(lam, theta0, outliers)
        if z_law(outliers, "outliers").shape:
            raise InputError("outliers must be the law of one number, such as a prior, got several")
        self.bend = real("bend", bend, lambda x: x > 0, "finite and > 0")

    @property
    def name(self) -> str:
        """The model in words, with its numbers."""
        return f"{self.words}, bend {written(self.bend)}, λ={written(self.lam)}"

    def gap(self, f: Any, datum: Datum) -> Any:
        """f - y, outliers included."""
        return f - datum.f_star - datum.xi - datum.z

    def ell(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        """The gap, clipped."""
        return jnp.clip(self.gap(f, datum), -self.bend, self.bend)

    def loss(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        """Huber's loss of the gap."""
        size = jnp.abs(self.gap(f, datum))
        return jnp.where(size <= self.bend, 0.5 * size**2, self.bend * (size - 0.5 * self.bend))

    def error(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        """The square of f - y without outliers."""
        return (f - datum.f_star - datum.xi) ** 2


class PhaseRetrieval(Regression):
    r"""Labels \(y = f^{*2} + \xi\), loss \((f^2 - y)^2/4\)."""

    overlap: Any
    size: Any
    words = "phase retrieval"
    names = ("overlap", "size")

    def __init__(self, overlap: Any, size: Any):
        super().__init__(0.0, 0.0)
        self.overlap = real("overlap", overlap, lambda x: abs(x) <= 1, "from -1 to 1")
        self.size = real("size", size, lambda x: x > 0, "finite and > 0")

    @property
    def name(self) -> str:
        """The model in words, with its start."""
        return f"{self.words} from overlap {written(self.overlap)}"

    @property
    def start(self) -> RowLaw:
        """Entries of the teacher's size, with a given cosine to it."""
        overlap, other = self.overlap, self.size * (1.0 - self.overlap**2) ** 0.5
        return start_law(FromNormals(lambda w_star, e: overlap * w_star + other * e[0]))

    def ell(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        """f (f² - y)."""
        return f * (f**2 - datum.f_star**2 - datum.xi)

    def loss(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        """(f² - y)²/4."""
        return 0.25 * (f**2 - datum.f_star**2 - datum.xi) ** 2

    def error(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        """(|f| - |f*|)²."""
        return (jnp.abs(f) - jnp.abs(datum.f_star)) ** 2


class NetworkMotion(Model):
    """A model that moves as a diagonal network, θ = (u, v) or a coordinate of its flow."""

    net: eqx.AbstractVar[Any]

    @property
    def state_shape(self) -> tuple[int, ...]:
        """That of the network."""
        return self.net.state_shape

    @property
    def channels(self) -> tuple[int, ...]:
        """There is one channel."""
        return ()

    @property
    def multiplicative(self) -> bool:
        """That of the network."""
        return self.net.multiplicative

    @property
    def start(self) -> RowLaw:
        """That of the network."""
        return self.net.start

    def w(self, theta: Any, t: Any = 0.0) -> Any:
        """That of the network."""
        return self.net.w(theta, t)

    def p(self, g: Any, theta: Any, t: Any = 0.0) -> Any:
        """That of the network."""
        return self.net.p(g, theta, t)


class NetworkFlow(NetworkMotion, SquaredLoss):
    """A diagonal network as a flow of θ = (u, v), with residuals that may be sampled."""

    net: Network
    affine_in_f: bool | None = eqx.field(static=True)

    @property
    def linear(self) -> bool | None:
        """Whether ℓ is affine in f, as it was given."""
        return self.affine_in_f

    @property
    def name(self) -> str:
        """That of the network."""
        return repr(self.net)


class OtherLoss(NetworkMotion):
    """A diagonal network that is trained on the loss of another model.

    It moves as a network, and its loss and error are those of the other model.
    """

    net: Any
    judge: Model

    @property
    def name(self) -> str:
        """The names of the network and of the loss."""
        depth = getattr(self.net, "depth", 2)
        bound = f" M={written(self.net.M)}" if hasattr(self.net, "M") else ""
        numbers = f"α={written(self.net.alpha)} λ={written(self.net.lam)} depth {depth}{bound}"
        return f"diagonal network {numbers}, loss of {self.judge.name}"

    @property
    def smooth(self) -> bool:
        """That of the model that gives the loss."""
        return self.judge.smooth

    @property
    def own(self) -> RowLaw:
        """That of the model that gives the loss."""
        return self.judge.own

    def check_labels(self, y: Any) -> None:
        """The check of the model that gives the loss."""
        self.judge.check_labels(y)

    def in_flow(self, t_max: float) -> Model:
        """The network in coordinates that suit gradient flow."""
        return OtherLoss(self.net.in_flow(t_max), self.judge)

    def admissible(self, step: Any, theta: Any) -> Any:
        """That of the network."""
        return self.net.admissible(step, theta)

    def longest_block(self) -> float:
        """That of the network."""
        return self.net.longest_block()

    def penalty(self, theta: Any, t: Any = 0.0) -> Any:
        """That of the network."""
        return self.net.penalty(theta, t)

    def ell(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        """That of the model that gives the loss."""
        return self.judge.ell(f, datum, t)

    def loss(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        """That of the model that gives the loss."""
        return self.judge.loss(f, datum, t)

    def error(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        """That of the model that gives the loss."""
        return self.judge.error(f, datum, t)

    @property
    def own_loss(self) -> bool:
        """Whether the model that gives the loss has a loss of its own."""
        return self.judge.own_loss

    @property
    def own_error(self) -> bool:
        """Whether the model that gives the loss has an error of its own."""
        return self.judge.own_error


def label(datum: Datum) -> Any:
    """sign(f* + ξ)."""
    return jnp.where(datum.f_star + datum.xi >= 0, 1.0, -1.0)


def ridge_flow(lam: Any = 0.0, theta0: Any = 0.0) -> Model:
    r"""Linear regression with weight decay: θ is the weight, \(\ell = f - y\) [eq:ridge_flow].

    Parameters
    ----------
    lam : number or array over parameter axes, default 0
        Weight decay λ ≥ 0.
    theta0 : number, Prior or FromNormals, default 0
        Start of the weights, in the units of w*.

    Returns
    -------
    Model
        For `solve`, `simulate`, `compare`, `learning_path` and the others.
    """
    return Ridge(lam, theta0, None)


def logistic_flow(lam: Any = 0.0, theta0: Any = 0.0) -> Model:
    r"""Logistic regression with labels \(y = \mathrm{sign}(f^* + \xi)\): \(\ell = -y/(1 + e^{yf})\).

    The error is the fraction of data with a wrong sign of f.

    Parameters
    ----------
    lam : number or array over parameter axes, default 0
        Weight decay λ ≥ 0.
    theta0 : number, Prior or FromNormals, default 0
        Start of the weights.

    Returns
    -------
    Model
        For `solve`, `simulate`, `compare`, `learning_path` and the others.
    """
    return Logistic(lam, theta0, None)


def huber_flow(bend: Any = 1.0, lam: Any = 0.0, outliers: Any = None, theta0: Any = 0.0) -> Model:
    """Robust regression by Huber's loss, whose slope stops growing at `bend`.

    The error is the square of f - y without outliers.

    Parameters
    ----------
    bend : number or array over parameter axes, default 1
        Size of a residual > 0 beyond which the loss is linear, in the units of y.
    lam : number or array over parameter axes, default 0
        Weight decay λ ≥ 0.
    outliers : Prior or FromNormals, optional
        Distribution of noise that is added to the labels besides ξ. None: there is none.
    theta0 : number, Prior or FromNormals, default 0
        Start of the weights.

    Returns
    -------
    Model
        For `solve`, `simulate`, `compare`, `learning_path` and the others.
    """
    return Huber(bend, lam, outliers, theta0)


def phase_retrieval_flow(overlap: Any = 0.5, size: Any = 1.0) -> Model:
    r"""Phase retrieval, labels \(y = f^{*2} + \xi\), loss \((f^2 - y)^2/4\), by gradient flow.

    The weights start with the size of the teacher. The error is \((|f| - |f^*|)^2\).

    Parameters
    ----------
    overlap : number or array over parameter axes, default 0.5
        Cosine between the start and the teacher, from -1 to 1.
    size : number or array over parameter axes, default 1
        Size of the teacher, the root of E[w*²], > 0.

    Returns
    -------
    Model
        For `solve`, `simulate`, `compare` and the others.
    """
    return PhaseRetrieval(overlap, size)


def diagonal_flow(net: Any, linear: bool | None = None, loss: Any = None) -> Model:
    """A diagonal network, truncated or not, as a flow of θ = (u, v) [eq:gf_truncated_dln].

    Parameters
    ----------
    net : Network
        A network with one α and one λ.
    linear : bool, optional
        False samples the residuals too, as in the heuristic form of the theory [eq:dmft_dln_heuristic].
        None or True: residuals of the squared loss need no sampling.
    loss : Model, optional
        A model with one channel, such as `logistic_flow()` or `huber_flow()`, on whose loss the network is
        trained. None: the squared loss.

    Returns
    -------
    Model
        For `solve`, `simulate`, `compare`, `learning_path` and the others.

    Raises
    ------
    InputError
        If `net` is no network with one α and λ, or `loss` has weight decay or a start of its own.
    """
    if not isinstance(net, Network):
        raise InputError(f"net must be a diagonal network, truncated or not, got {type(net).__name__}")
    for name in ("alpha", "lam"):
        one_real(name, getattr(net, name), lambda x: x >= 0, "one number for a flow")
    linear = flag_or_none("linear", linear)
    if loss is None:
        return NetworkFlow(net, linear)
    if not isinstance(loss, Model) or loss.channels != ():
        raise InputError(f"loss must be a model with one channel, such as logistic_flow(), got {shown(loss)}")
    if np.any(loss.numbers().get("lam", 0.0)) or np.any(getattr(loss, "theta0", 0.0)):
        raise InputError("loss must be without weight decay and start of its own: those are the network's")
    return OtherLoss(net, loss)
