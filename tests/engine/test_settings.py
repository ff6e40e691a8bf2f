"""Settings: where they come from, what will not do, and how they are printed."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from variegate.engine.settings import Settings, load_settings, mask_password, settings_as_toml
from variegate.errors import DataError, InputError, VariegateError


@pytest.fixture(autouse=True)
def _no_settings_around(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CONFIG", "PORT", "STORE", "HOST", "POLICIES", "SPLIT", "RATE"):
        monkeypatch.delenv(f"VARIEGATE_{name}", raising=False)


def file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "service.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_listen_to_this_machine_alone() -> None:
    given_nothing = load_settings()

    assert (given_nothing.host, given_nothing.port) == ("127.0.0.1", 8000)
    assert given_nothing.is_local
    assert given_nothing.store == "sqlite:///variegate.db"
    assert given_nothing.policies == {"lmdp": "lmdp"}


def test_flags_win_over_the_environment_and_that_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file(tmp_path, "port = 1\nk = 1\nseed = 1\n")
    monkeypatch.setenv("VARIEGATE_PORT", "2")
    monkeypatch.setenv("VARIEGATE_K", "2")

    found = load_settings({"port": 3}, config=path)

    assert (found.port, found.k, found.seed, found.memory) == (3, 2, 1, 1000)


def test_environment_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VARIEGATE_CONFIG", str(file(tmp_path, "port = 4321")))

    assert load_settings().port == 4321


def test_environment_speaks_of_tables_and_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VARIEGATE_POLICIES__MINE", "lmdh:ridge=2")
    monkeypatch.setenv("VARIEGATE_SPLIT", '{"mine": 3}')
    monkeypatch.setenv("VARIEGATE_SPLIT__OTHER", "1")
    monkeypatch.setenv("VARIEGATE_POLICIES", '{"other": "mmr", "mine": "lsb"}')
    monkeypatch.setenv("VARIEGATE_STORE", "")
    monkeypatch.setenv("VARIEGATE_CORS_ORIGINS", "https://a.example, https://b.example:8443")

    found = load_settings()

    assert found.policies == {"other": "mmr", "mine": "lmdh:ridge=2"}
    assert found.split == {"mine": 3.0, "other": 1.0}
    assert found.store == "sqlite:///variegate.db"  # an empty variable is not set
    assert found.cors_origins == ("https://a.example", "https://b.example:8443")


def test_environment_can_take_back_what_the_file_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VARIEGATE_RATE", "none")

    assert load_settings(config=file(tmp_path, "rate = 5")).rate is None


def test_table_of_a_stronger_place_stands_in_for_the_whole(tmp_path: Path) -> None:
    path = file(tmp_path, '[policies]\na = "lmdh"\nb = "mmr"\n')

    assert load_settings({"policies": {"c": "lsb"}}, config=path).policies == {"c": "lsb"}


def test_settings_themselves_read_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VARIEGATE_PORT", "1")

    assert Settings().port == 8000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("portt = 1", r"service\.toml: `portt` is not a setting: did you mean `port`\?"),
        ("max-k = 1", r"`max-k` is not a setting: did you mean `max_k`\?"),
        ("qqq = 1", r"`qqq` is not a setting: see `variegate serve --print-config`"),
        ("port = 70000", r"service\.toml: `port` must be less than or equal to 65535, got 70000"),
        ("port = 'x'", r"`port` must be a valid integer, got 'x'"),
        ("k = 0", r"`k` must be greater than or equal to 1, got 0"),
        ("late = 'never'", r"`late` must be 'drop' or 'learn', got 'never'"),
        ("memory_days = inf", r"`memory_days` must be a finite number, got inf"),
        ("split = {lmdh = 'many'}", r"`split\.lmdh` must be a valid number, got 'many'"),
        ("split = {lmdh = -1}", r"`split\.lmdh` must be greater than or equal to 0, got -1"),
        ("split = {lmdh = 0}", r"`split` must give some policy a weight above 0"),
        ("split = {other = 1}", r"`split` must name policies \(lmdp\), got 'other'"),
        ("policies = {}", r"`policies` must have at least 1 item, got 0"),
        ("policies = {'a b' = 'lmdh'}", r"`policies` must have names of letters.* got 'a b'"),
        ("policies = {a = 'lmhd'}", r"`policies\.a`: .* got 'lmhd': did you mean 'lmdh'\?"),
        ("policies = {a = 'lmdh:rige=1'}", r"`policies\.a`: .*did you mean 'ridge'\?"),
        ("policies = {a = 'lmdh:ridge=-1'}", r"`policies\.a`: `ridge` must be .* got -1"),
        ("k = 11\nmax_k = 10", r"`k` must be at most `max_k`, 10, got 11"),
        ("cors_origins = ['shop']", r"`cors_origins` must be origins .* got 'shop'"),
        (
            "image_origins = ['https://a; b']",
            r"`image_origins` must be origins .* got 'https://a; b'",
        ),
        ("port = = 1", r"service\.toml:1: not TOML: "),
        ("port", r"service\.toml: not TOML: "),
    ],
)
def test_file_that_will_not_do(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        load_settings(config=file(tmp_path, text))

    assert "\n" not in str(caught.value)


def test_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.toml: cannot read the settings: No such file"):
        load_settings(config=tmp_path / "none.toml")


def test_file_of_other_bytes(tmp_path: Path) -> None:
    (tmp_path / "service.toml").write_bytes(b"\xff\xfe")

    with pytest.raises(DataError, match="must be a TOML file in UTF-8"):
        load_settings(config=tmp_path / "service.toml")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("PORT", "tcp://10.0.0.1:8000", r"`port` must be .* \(from VARIEGATE_PORT\)"),
        (
            "POLICIES",
            "{x",
            r"`policies` must be a JSON object, got '\{x' \(from VARIEGATE_POLICIES\)",
        ),
        ("SPLIT", "[1]", r"`split` must be a JSON object, got '\[1\]' \(from VARIEGATE_SPLIT\)"),
    ],
)
def test_environment_that_will_not_do(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    monkeypatch.setenv(f"VARIEGATE_{name}", value)

    with pytest.raises(InputError, match=message):
        load_settings()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"port": "x" * 500}, r"`port` must be a valid integer, got 'x{77}\.\.\.'$"),
        ({"nothing": 1}, "`nothing` is not a setting"),
        (
            {"mix": 0.1, "policies": {"e": "epsilon-greedy"}},
            r"`mix` must be 0 for stochastic policies, as 'e' \(epsilon-greedy\)",
        ),
    ],
)
def test_flags_that_will_not_do(flags: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_settings(flags)


def test_mix_takes_policies_that_do_not_draw() -> None:
    assert load_settings({"mix": 0.1}).mix == 0.1


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "localhost", "LOCALHOST", "::1"])
def test_loopback_is_local(host: str) -> None:
    assert Settings(host=host).is_local


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "127.0.0.1.example", "shop"])  # noqa: S104
def test_other_hosts_are_not_local(host: str) -> None:
    assert not Settings(host=host).is_local


def test_printed_settings_can_be_read_back(tmp_path: Path) -> None:
    first = Settings(
        catalogue='a "quoted" \\ name\x7f.npz',
        rate=2.5,
        allow_anonymous=True,
        cors_origins=("https://a.example",),
        policies={"a.b": "lmdh:ridge=1", "c": "mmr"},
        split={"a.b": 1},
    )

    assert load_settings(config=file(tmp_path, settings_as_toml(first))) == first


# Surrogates cannot be written to a file at all.
@given(path=st.text(st.characters(exclude_categories=["Cs"])))
@settings(deadline=None)
def test_any_path_survives_printing(path: str) -> None:
    text = settings_as_toml(Settings(catalogue=path))

    assert tomllib.loads(text)["catalogue"] == path


def test_printed_settings_explain_every_setting() -> None:
    lines = settings_as_toml(Settings()).splitlines()

    for name, field in Settings.model_fields.items():
        assert f"# {field.description}" in lines, name


def test_printed_settings_hide_the_password() -> None:
    text = settings_as_toml(Settings(store="postgresql://me:hunter2@db/shop?password=hunter2"))

    assert "hunter2" not in text
    assert 'store = "postgresql://me:***@db/shop?password=***"' in text
    assert "VARIEGATE_STORE" in text


@pytest.mark.parametrize(
    "url", ["sqlite:///variegate.db", "sqlite:////tmp/a.db", "postgresql://me@db/shop"]
)
def test_url_without_password_stays_as_it_is(url: str) -> None:
    assert mask_password(url) == url


def test_settings_pass_through_json() -> None:
    first = Settings(policies={"a": "mmr"}, rate=2, cors_origins=("https://a.example",))

    assert Settings.model_validate_json(first.model_dump_json()) == first


def test_every_error_is_of_the_package() -> None:
    with pytest.raises(VariegateError):
        load_settings({"port": None})


@pytest.mark.parametrize(
    ("variable", "hint"),
    [
        ("VARIEGATE_STOER", "did you mean VARIEGATE_STORE?"),
        ("VARIEGATE_CORS_ORIGIN", "did you mean VARIEGATE_CORS_ORIGINS?"),
        ("VARIEGATE_POLICY__A", "did you mean VARIEGATE_POLICIES?"),
        ("VARIEGATE_PORT__A", "did you mean VARIEGATE_PORT?"),
        ("variegate_hots", "did you mean VARIEGATE_HOST?"),
        ("VARIEGATE_ZZZZZZ", "unset it"),
    ],
)
def test_misspelt_variables_are_refused(
    monkeypatch: pytest.MonkeyPatch, variable: str, hint: str
) -> None:
    monkeypatch.setenv(variable, "x")

    with pytest.raises(InputError) as caught:
        load_settings()

    assert str(caught.value) == f"environment variable `{variable}` is not a setting: {hint}"


def test_variables_of_other_parts_are_not_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATA", "CACHE", "KEY", "BENCHMARK_CORES"):
        monkeypatch.setenv(f"VARIEGATE_{name}", "x")

    assert load_settings().port == 8000


SECRETIVE = 'store = "postgresql://me:hunter2@db/shop"'


@pytest.mark.parametrize(
    ("mode", "text", "advice"),
    [
        (0o602, "port = 1", "got mode 602: chmod 644 it"),
        (0o666, "port = 1", "got mode 666: chmod 644 it"),
        (0o620, SECRETIVE, "got mode 620: chmod 600 it"),
    ],
)
def test_file_that_others_can_write_is_refused(
    tmp_path: Path, mode: int, text: str, advice: str
) -> None:
    path = file(tmp_path, text)
    path.chmod(mode)

    with pytest.raises(
        DataError, match=rf"only the owner may have write access to the settings, {advice}"
    ):
        load_settings(config=path)


@pytest.mark.parametrize(
    ("mode", "text", "words"),
    [
        (0o664, "port = 1", "is writable by its group: chmod 644 it"),
        (0o644, SECRETIVE, "contains a password and is readable by others: chmod 600 it"),
        (0o644, "port = 1", ""),
        (0o600, SECRETIVE, ""),
        (0o644, 'store = "postgresql://me@db/shop"', ""),
    ],
)
def test_file_that_shows_too_much_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, text: str, words: str
) -> None:
    path = file(tmp_path, text)
    path.chmod(mode)

    load_settings(config=path)

    assert caplog.messages == ([f"{path} {words}"] if words else [])
