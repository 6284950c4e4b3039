"""One way to register: the base class decides. What is incomplete, or has a name that is taken, is refused."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

import discreet as d
from discreet.data.formats.data_format import NewsFormat
from discreet.data.formats.format_registry import FORMATS, recognise
from discreet.plugins import REGISTRIES, Registry, resolve, summary
from discreet.vendors.vendor_method import VendorMethod
from discreet.vendors.vendor_registry import METHODS


def test_every_registry_and_all_that_it_ships_is_there():
    for base, place in REGISTRIES.items():
        registry = resolve(place)
        assert isinstance(registry, Registry)
        for name in registry.shipped:
            assert issubclass(registry[name], resolve(base))
            assert registry[name].name == name
            assert summary(registry[name])


@pytest.fixture
def flat_format():
    @d.register
    class Flat(NewsFormat):
        name: ClassVar[str] = "flat"
        summary: ClassVar[str] = "Flat (one file, flat.txt)"

        def recognises(self, path: Path) -> bool:
            return path.name == "flat.txt"

        def read(self, path, *, negatives=4, seed=0):
            raise d.DiscreetError(f"{path} was read")

    yield Flat
    FORMATS.forget("flat")


def test_a_format_of_ones_own_is_tried_first_and_named_where_nothing_fits(flat_format, tmp_path):
    path = tmp_path / "flat.txt"
    path.write_text("user,item,rating\n1,2,3\n")
    assert isinstance(recognise(path), flat_format)
    with pytest.raises(d.DiscreetError, match=r"flat\.txt was read"):
        d.open_news(path)
    other = tmp_path / "other.bin"
    other.write_bytes(b"\0" * 9)
    with pytest.raises(d.DiscreetError, match=r"Adressa \(day files like 20170101\) or Flat \(one file, flat\.txt\)"):
        d.open_news(other)


def test_a_vendor_method_without_epsilon_has_none():
    @dataclass(frozen=True)
    class Nothing(VendorMethod):
        """Nothing at all."""

        name: ClassVar[str] = "nothing"

        def share(self, vendors, seed): ...

        def predictor(self, shared, recipient, own, seed): ...

    assert Nothing().epsilon is None
    assert Nothing().guarantee(3) is None
    assert "nothing" not in METHODS
    assert d.register(Nothing) is d.register(Nothing)
    assert summary(METHODS["nothing"]) == "Nothing at all."
    METHODS.forget("nothing")


def test_what_cannot_be_registered_says_why():
    class Stranger:
        name = "stranger"

    with pytest.raises(d.DiscreetError, match=r"Stranger cannot be registered: it inherits from none of Method, "):
        d.register(Stranger)

    class Nameless(NewsFormat):
        def recognises(self, path): ...

        def read(self, path, *, negatives=4, seed=0): ...

    with pytest.raises(d.DiscreetError, match="Nameless: a data format needs a name"):
        d.register(Nameless)
    with pytest.raises(d.DiscreetError, match="another vendors' method is called 'local'"):

        @d.register
        @dataclass(frozen=True)
        class Other(VendorMethod):
            name: ClassVar[str] = "local"

            def share(self, vendors, seed): ...

            def predictor(self, shared, recipient, own, seed): ...
