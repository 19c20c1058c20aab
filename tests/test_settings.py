"""Profiles, files, precedence and refusals."""

from __future__ import annotations

import pytest

from arbgraph.settings import PROFILES, Settings, SettingsError, load_settings


def test_as_released_holds_the_values_of_the_public_code():
    s = load_settings("as_released")
    assert (s.rounds, s.prior, s.budget, s.step_size, s.tau_accept, s.tau_gate) == (2, 0.5, 3, 0.8, 0.3, 0.5)
    assert (s.tau_merge, s.tau_q, s.tau_sim, s.tau_conf, s.support_cap, s.support_cap_scope) == (0.88, 0.3, 0.75, 0.5, 60, "graph")
    assert not s.early_stop


def test_every_profile_is_valid_and_default_is_the_default():
    for name in PROFILES:
        assert isinstance(load_settings(name), Settings)
    assert load_settings() == load_settings("default")
    assert load_settings("default").rounds == 4
    assert load_settings("default").early_stop


def test_every_field_says_what_it_means():
    assert all(field.description for field in Settings.model_fields.values())


def test_precedence_is_profile_then_file_then_override(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text("base: as_released\nrounds: 6\nbudget: null\n", encoding="utf-8")
    s = load_settings(path, tau_q=0.1)
    assert (s.rounds, s.budget, s.tau_q, s.early_stop) == (6, None, 0.1, False)
    assert load_settings(s, rounds=1).rounds == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tau_qq: 0.3", "unknown key 'tau_qq'; did you mean tau_q"),
        ("rounds: -1", "rounds = -1"),
        ("rounds: many", "rounds = 'many'"),
        ("prior: 1.0", "prior = 1.0"),
        ("tau_q: .nan", "tau_q"),
        ("scheduler: best", "scheduler = 'best'"),
        ("base: fancy", "base 'fancy' is not a profile"),
        ("- a\n- b", "expected a mapping"),
        ("a: [", "not valid YAML"),
        ("x: !!python/object/apply:os.system ['true']", "not valid YAML"),
    ],
)
def test_bad_files_name_the_file_and_the_key(tmp_path, text, message):
    path = tmp_path / "s.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        load_settings(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_neither_profile_nor_file():
    with pytest.raises(SettingsError, match=r"neither a profile \(as_released, default\) nor a file"):
        load_settings("nope")


def test_an_empty_file_is_the_default_profile(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text("", encoding="utf-8")
    assert load_settings(path) == load_settings("default")
