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


def test_links_in_a_row_are_a_text_a_number_or_a_list() -> None:
    hops = [{}, {"rate": "5mbit", "header_hit": 0.4}]
    link = headway.Scenario(hops=hops, rivals="modern:cubic hops 2")
    assert link.given["hops"] == "1; rate 5mbit header-hit 0.4"
    assert link == headway.Scenario(hops="1; rate 5mbit header-hit 0.4", rivals="modern:cubic hops 2")
    assert link == pickle.loads(pickle.dumps(link)) and link.replace(hops=2).hops == "2"
    run = headway.run(link.replace(delay="5ms", damage="none", duration="2s"), "headway", seed=1)
    damaged = run.metrics["hop_damaged"]
    assert damaged == "0 0" and run.metrics["rival_goodput_bps"] > run.metrics["goodput_bps"] / 100


@pytest.mark.parametrize(
    ("hops", "part"),
    [
        ([{"rate": "soon"}], 'hops: hop 1: rate: "soon": expected'),
        ([{}, {"dellay": "1ms"}], "dellay: unknown key (did you mean delay?)"),
        ([{}, {"variant": "sack"}], "variant: is not about the link: expected one of rate,"),
        ([{"rate": "5 mbit"}], "hop 1: rate: \"5 mbit\": expected a value without spaces and semicolons"),
        ([{"rate": None}], "hops: hop 1: rate: None: expected a text"),
        (["rate"], "hops: hop 1: 'rate': expected a dict of keys of a link"),
        ([], "hops: \"\": expected hops with ; between them"),
        (0, "0: expected 1 to 64 hops"),
    ],
)
def test_links_that_make_no_sense_are_refused(hops: object, part: str) -> None:
    with pytest.raises(headway.InputError) as refusal:
        headway.Scenario(hops=hops)  # type: ignore[arg-type]
    assert part in str(refusal.value), refusal.value


def test_the_stub_has_every_key() -> None:
    path = Path(__file__).parents[1] / "headway/scenario.pyi"
    how = "python -m headway._stub > python/headway/scenario.pyi"
    assert path.read_text() == stub(), f"{path} is stale: {how}"
    names = {name.replace("-", "_") for name in headway.Scenario().settings}
    assert names == set(inspect.signature(headway.Scenario).parameters)
    assert all(f"\n* {name} (" in (headway.Scenario.__doc__ or "") for name in names)
