"""Scenarios: keys, values, errors, and what editors know of them."""

import inspect
import pickle
from pathlib import Path

import pytest

import headway
from headway._stub import stub


def test_keys_are_those_of_the_command() -> None:
    link = headway.Scenario(rate="5mbit", delay="20ms", header_hit=0.4, ledger=False, flips=3, loss=None)
    assert link.given == {
        "rate": "5mbit",
        "delay": "20ms",
        "header-hit": "0.4",
        "ledger": "off",
        "flips": "3",
    }
    assert (link.rate, link.delay, link.header_hit, link.ledger) == ("5mbit", "20ms", "40%", "off")
    assert headway.Scenario().damage == "burst:5%:5", "what is not given is as in a plain race"


def test_a_scenario_is_a_value() -> None:
    link = headway.Scenario(rate="5mbit", header_hit="40%")
    assert link == headway.Scenario(rate="5000kbit", header_hit=0.4)
    assert link != headway.Scenario(rate="6mbit", header_hit="40%")
    assert link.replace(rate="6mbit", header_hit=None) == headway.Scenario(rate="6mbit")
    assert hash(link) == hash(pickle.loads(pickle.dumps(link))) and pickle.loads(pickle.dumps(link)) == link
    assert repr(link) == "Scenario(rate='5mbit', header_hit='40%')"
    with pytest.raises(AttributeError):
        link.speed  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("keys", "parts"),
    [
        ({"dellay": "1ms"}, ["dellay: unknown key (did you mean delay?): expected one of profile,"]),
        ({"header_hits": "1%"}, ["header-hits: unknown key (did you mean header-hit?)"]),
        ({"clock": "real"}, ["clock: unknown key"]),
        ({"delay": "soon"}, ['delay: "soon": expected']),
        ({"damage": "burst:5%"}, ['damage: "burst:5%"', "or trace:FILE"]),
        ({"damage": "trace:none.fates"}, ["damage:", "none.fates", "cannot be read"]),
        ({"variant": "tahoe"}, ['variant: "tahoe": expected one of newreno,']),
        ({"mtu": [1500]}, ["mtu: [1500]: expected a text"]),
        ({"duration": "3s", "size": "1MB"}, ["duration: a run of fixed duration sends all the time"]),
    ],
)
def test_what_makes_no_sense_is_refused(keys: dict[str, object], parts: list[str]) -> None:
    with pytest.raises(headway.InputError) as refusal:
        headway.Scenario(**keys)  # type: ignore[arg-type]
    assert all(part in str(refusal.value) for part in parts), refusal.value
    assert isinstance(refusal.value, ValueError) and isinstance(refusal.value, headway.Error)


def test_the_stub_has_every_key() -> None:
    path = Path(__file__).parents[1] / "headway/scenario.pyi"
    how = "python -m headway._stub > python/headway/scenario.pyi"
    assert path.read_text() == stub(), f"{path} is stale: {how}"
    names = {name.replace("-", "_") for name in headway.Scenario().settings}
    assert names == set(inspect.signature(headway.Scenario).parameters)
    assert all(f"\n* {name} (" in (headway.Scenario.__doc__ or "") for name in names)
