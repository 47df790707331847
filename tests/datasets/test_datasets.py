"""Real data: what ships, what is downloaded on request, and how it becomes inputs."""

import hashlib
import http.server
import io
import tarfile
import threading
import zipfile

import numpy as np
import pytest

import dynafield as df
from dynafield import datasets
from dynafield.cli.studies import local_copy
from dynafield.datasets import pancan


def test_the_shipped_cohort_is_the_published_one():
    cohort = datasets.tcga_luad()
    assert cohort.X.shape == (576, 1500)
    assert cohort.X.dtype == float
    assert np.all(np.isfinite(cohort.X))
    assert dict(zip(*np.unique(cohort.label, return_counts=True), strict=True)) == {
        "tumour": 517,
        "normal": 59,
    }
    assert len(cohort.gene) == 1500
    assert "openomics" in cohort.provenance
    assert "576 samples" in repr(cohort)
    # the highest-variance genes: none is nearly constant
    assert np.min(np.var(cohort.X, axis=0)) > 1.0


def test_whitening_makes_uncorrelated_unit_features():
    X = np.random.default_rng(0).standard_normal((200, 30)) @ np.random.default_rng(1).standard_normal(
        (30, 30)
    )
    Z = datasets.whiten(X)
    assert Z.shape == (200, 30)
    np.testing.assert_allclose(Z.T @ Z / 200, np.eye(30), atol=1e-10)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-10)
    assert datasets.whiten(X, 5).shape == (200, 5)


def test_with_more_features_than_samples_all_samples_become_equidistant():
    Z = datasets.whiten(datasets.tcga_luad().X)
    assert Z.shape == (576, 575)
    distances = 2 * 576 - 2 * (Z[:40] @ Z[:40].T + 1)  # |zᵢ - zⱼ|² given |zᵢ|² = n - 1
    np.testing.assert_allclose(Z @ Z.T, 576 * np.eye(576) - 1, atol=1e-6)
    off = distances[~np.eye(40, dtype=bool)]
    np.testing.assert_allclose(off, off[0], rtol=1e-9)


def test_a_design_is_normalized_over_the_cohort_and_keeps_full_rank():
    cohort = datasets.tcga_luad().X
    X = datasets.design(cohort, 100, 200, seed=0)
    assert X.shape == (100, 200)
    assert np.array_equal(X, datasets.design(cohort, 100, 200, seed=0))
    assert not np.array_equal(X, datasets.design(cohort, 100, 200, seed=1))
    assert np.linalg.matrix_rank(X) == 100
    whole = datasets.design(cohort, 576, 200, seed=0)
    np.testing.assert_allclose(whole.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.mean(whole**2, axis=0), 1 / 200, rtol=1e-10)


def test_real_inputs_end_where_the_theory_says():
    """Whitened genes, n = 100, d = 200: test errors within one standard deviation of the theory (errata),
    spectrum of XᵀX/δ narrower than Marchenko–Pastur's .172 to 5.83, as Jacobi's."""
    genes = datasets.whiten(datasets.tcga_luad().X)
    task = df.Task(0.5, 0.1, df.Bernoulli(0.1))
    alphas = np.array([2.0, 0.5, 0.1, 0.01])
    theory = df.fixed_point(task, df.DiagonalNetwork(alphas)).C_w
    errors, edges = [], []
    for seed in range(40):
        rng = np.random.default_rng(1000 + seed)
        X = datasets.design(genes, 100, 200, rng)
        w_star = rng.permutation(np.repeat([1.0, 0.0], [20, 180]))
        y = X @ w_star + 0.1 * rng.standard_normal(100)
        errors.append(
            np.mean((df.endpoints.minimizer(X, y, df.DiagonalNetwork(alphas)).w - w_star) ** 2, axis=1)
        )
        values = np.linalg.eigvalsh(X @ X.T / 0.5)
        edges.append([values[0], values[-1]])
    assert np.all(np.abs(np.mean(errors, axis=0) - theory) < np.std(errors, axis=0, ddof=1))
    low, high = np.mean(edges, axis=0)
    assert 0.2 < low < 0.3
    assert 4.0 < high < 4.8


def test_a_cohort_serves_as_input_law():
    genes = datasets.whiten(datasets.tcga_luad().X)
    runs = df.simulate(
        df.Task(0.5, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(0.5), 10.0, d=200, runs=2, t_eval=[10.0],
        inputs=lambda rng, n, d: datasets.design(genes, n, d, rng),
    )  # fmt: skip
    assert runs.n == 100
    assert not np.array_equal(runs.w[0], runs.w[1])


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """A small archive laid out like the published one, with the facts set to match."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 5)).round(3)
    X[:, 2] = 0.5
    rows = [f"sample_{i}," + ",".join(map(str, x)) for i, x in enumerate(X)]
    data = ",".join(["", *(f"gene_{j}" for j in range(5))]) + "\n" + "\n".join(rows) + "\n"
    names = ["BRCA", "BRCA", "KIRC", "BRCA", "KIRC", "BRCA"]
    labels = ",Class\n" + "\n".join(f"sample_{i},{name}" for i, name in enumerate(names)) + "\n"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in (("data", data), ("labels", labels)):
            info = tarfile.TarInfo(f"{pancan.NAME}/{name}.csv")
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    path = tmp_path / "archive.zip"
    with zipfile.ZipFile(path, "w") as outer:
        outer.writestr(f"{pancan.NAME}.tar.gz", packed.getvalue())
    monkeypatch.setattr(pancan, "ARCHIVE_SHA256", hashlib.sha256(packed.getvalue()).hexdigest())
    for name, value in dict(SAMPLES=6, GENES=5, CONSTANT=1, CLASSES={"BRCA": 4, "KIRC": 2}).items():
        monkeypatch.setattr(pancan, name, value)
    monkeypatch.setenv("DYNAFIELD_DATA", str(tmp_path / "cache"))
    return path, X, data, labels


def test_a_local_copy_in_every_form(archive, tmp_path):
    path, X, data, labels = archive
    from_zip = datasets.tcga_pancan(path)
    with zipfile.ZipFile(path) as outer:
        outer.extract(f"{pancan.NAME}.tar.gz", tmp_path)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "data.csv").write_text(data)
    (folder / "labels.csv").write_text(labels)
    for cohort in (
        from_zip,
        datasets.tcga_pancan(tmp_path / f"{pancan.NAME}.tar.gz"),
        datasets.tcga_pancan(folder),
    ):
        assert np.array_equal(cohort.X, X)
        assert cohort.label.tolist() == ["BRCA", "BRCA", "KIRC", "BRCA", "KIRC", "BRCA"]
        assert cohort.gene[4] == "gene_4"
    assert datasets.varying(from_zip.X).shape == (6, 4)


def with_bom(data, labels):
    return "\ufeff" + data, "\ufeff" + labels


def with_windows_lines(data, labels):
    return data.replace("\n", "\r\n"), labels.replace("\n", "\r\n")


def with_quotes_and_spaces(data, labels):
    return data.replace("sample_1", '"sample_1"').replace("gene_4", '"gene_4"'), labels.replace(",B", ", B")


def with_blank_lines_and_no_last_one(data, labels):
    return data.replace("\nsample_3", "\n\nsample_3").rstrip("\n"), labels + "\n\n"


def with_labels_in_another_order(data, labels):
    head, *rows = labels.splitlines()
    return data, "\n".join([head, *rows[::-1]])


@pytest.mark.parametrize(
    "odd",
    [
        with_bom,
        with_windows_lines,
        with_quotes_and_spaces,
        with_blank_lines_and_no_last_one,
        with_labels_in_another_order,
    ],
)
def test_odd_lines_of_a_folder_change_nothing(archive, tmp_path, odd):
    _, X, data, labels = archive
    folder = tmp_path / "copy" / pancan.NAME
    folder.mkdir(parents=True)
    for name, text in zip(("data", "labels"), odd(data, labels), strict=True):
        (folder / f"{name}.csv").write_bytes(text.encode())
    cohort = datasets.tcga_pancan(tmp_path / "copy")
    assert np.array_equal(cohort.X, X)
    assert cohort.label.tolist() == ["BRCA", "BRCA", "KIRC", "BRCA", "KIRC", "BRCA"]
    assert cohort.gene.tolist() == [f"gene_{j}" for j in range(5)]
    assert cohort.sample.tolist() == [f"sample_{i}" for i in range(6)]


@pytest.mark.parametrize(
    ("which", "old", "new", "message"),
    [
        ("data", "\nsample_5,", "\nsample_5,1.0,", "does not hold the tables"),
        ("data", "\nsample_5,", "\nsample_5\nsample_6,", "shape must be"),
        ("data", "0.5,", ",", "missing values must be 0, found"),
        ("data", "0.5,", "NA,", "missing values must be 0, found"),
        ("data", "0.5,", "high,", "does not hold the tables"),
        ("data", "0.5,", "0.25,", "constant genes must be 1, found 0"),
        ("data", "sample_5", "sample_4", "samples with names of their own must be 6, found 5"),
        ("data", "gene_4", "gene_3", "genes called gene_0 and so on must be 5, found 4"),
        ("labels", "sample_4,KIRC", "sample_4,BRCA", "classes must be"),
        ("labels", "sample_4,KIRC\n", "", "classes must be"),
        ("labels", "sample_5", "sample_4", "does not hold the tables"),
    ],
)
def test_lines_that_are_wrong_are_told(archive, tmp_path, which, old, new, message):
    _, _, data, labels = archive
    for name, text in (("data", data), ("labels", labels)):
        (tmp_path / f"{name}.csv").write_text(text.replace(old, new, 1) if name == which else text)
    with pytest.raises(df.errors.FileError, match=message):
        datasets.tcga_pancan(tmp_path)


def test_a_local_copy_on_the_command_line(archive, tmp_path):
    """Path after `--data pancan`; a figure of that name is a figure; a wrong name is told as a figure."""
    path, *_ = archive
    assert local_copy(["rates-real", str(path)], "pancan") == (["rates-real"], str(path))
    assert local_copy([str(path)], "luad") == ([str(path)], "luad")
    assert local_copy(["descent"], "pancan") == (["descent"], "pancan")
    assert local_copy(["desent"], "pancan") == (["desent"], "pancan")
    assert local_copy(["no/such.zip"], "pancan") == ([], "no/such.zip")


def serve(folder):
    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *given):
            super().__init__(*given, directory=str(folder))

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def test_a_download_happens_on_request_only_and_once(archive, tmp_path, monkeypatch):
    path, X, *_ = archive
    server = serve(tmp_path)
    monkeypatch.setattr(pancan, "URL", f"http://127.0.0.1:{server.server_port}/{path.name}")
    with pytest.raises(df.errors.FileError, match=r"tcga_pancan\(download=True\)"):
        datasets.tcga_pancan()
    assert not (tmp_path / "cache").exists()
    assert np.array_equal(datasets.tcga_pancan(download=True).X, X)
    (kept,) = (tmp_path / "cache").iterdir()
    kept.write_bytes(b"damaged")
    with pytest.raises(df.errors.FileError, match=r"damaged or changed; tcga_pancan\(download=True\)"):
        datasets.tcga_pancan()
    assert np.array_equal(datasets.tcga_pancan(download=True).X, X)
    server.shutdown()
    assert np.array_equal(datasets.tcga_pancan().X, X)
    assert [p.name for p in (tmp_path / "cache").iterdir()] == [f"{pancan.NAME}.tar.gz"]


def test_a_failed_download_says_what_to_do_and_leaves_nothing(archive, tmp_path, monkeypatch):
    server = serve(tmp_path)
    monkeypatch.setattr(pancan, "URL", f"http://127.0.0.1:{server.server_port}/missing.zip")
    with pytest.raises(
        df.errors.FileError, match=r"could not be downloaded .*tcga_pancan\(source='that.zip'\)"
    ):
        datasets.tcga_pancan(download=True)
    (tmp_path / "half.zip").write_bytes(archive[0].read_bytes()[:200])
    monkeypatch.setattr(pancan, "URL", f"http://127.0.0.1:{server.server_port}/half.zip")
    with pytest.raises(df.errors.FileError, match="could not be downloaded"):
        datasets.tcga_pancan(download=True)
    server.shutdown()
    assert list((tmp_path / "cache").iterdir()) == []


def test_other_data_under_the_same_name_are_refused(archive, tmp_path, monkeypatch):
    path, _, data, labels = archive
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "data.csv").write_text(data)
    with pytest.raises(df.errors.FileError, match=r"no labels.csv"):
        datasets.tcga_pancan(folder)
    (folder / "labels.csv").write_text(labels.replace("KIRC", "PRAD"))
    with pytest.raises(df.errors.FileError, match="classes must be"):
        datasets.tcga_pancan(folder)
    (folder / "labels.csv").write_text(labels)
    for fact, message in (("GENES", "shape must be"), ("CONSTANT", "constant genes must be 9, found 1")):
        with monkeypatch.context() as changed:
            changed.setattr(pancan, fact, 9)
            with pytest.raises(df.errors.FileError, match=message):
                datasets.tcga_pancan(folder)
    monkeypatch.setattr(pancan, "ARCHIVE_SHA256", "0" * 64)
    with pytest.raises(df.errors.FileError, match="damaged or changed"):
        datasets.tcga_pancan(path)
    with pytest.raises(df.errors.FileError, match="existing file or folder"):
        datasets.tcga_pancan(tmp_path / "nowhere")


GOOD = np.arange(12.0).reshape(4, 3)
FLAT = np.column_stack([GOOD, np.full(4, 0.1)])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: datasets.design(GOOD, 5, 2, 0), "n must be an integer from 2 to 4, got 5"),
        (lambda: datasets.design(GOOD, 1, 2, 0), "n must be an integer from 2 to 4, got 1"),
        (lambda: datasets.design(GOOD, 2, 0, 0), "d must be an integer from 1 to 3, got 0"),
        (lambda: datasets.design(GOOD, 2, 2, -1), "seed must be"),
        (lambda: datasets.design(FLAT, 2, 2, 0), r"got 1 \(the first is column 3\)"),
        (lambda: datasets.design(GOOD * np.nan, 2, 2, 0), "X must be finite"),
        (lambda: datasets.whiten(GOOD[:1]), "at least 2 samples"),
        (lambda: datasets.whiten(GOOD, 2), "components must be an integer from 1 to 1, got 2"),
        (lambda: datasets.whiten(np.ones((3, 3))), "constant columns only"),
        (lambda: datasets.varying(np.ones((3, 3))), "got 3 constant ones"),
        (lambda: datasets.whiten(np.ones(3)), "rows and columns"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(df.InputError, match=message):
        call()
