"""Capabilities: what a class declares, and what a subclass that computes something else loses."""

from dataclasses import fields, replace

from askwise.core.capabilities import Capabilities, Declaring, capabilities_of

SHORTCUTS = {"known_count_hint", "incremental", "numpy_form"}
EVERYTHING = Capabilities(
    masks_inputs=True,
    noisy_training=False,
    noise_in_walks=False,
    known_count_hint=True,
    incremental=True,
    numpy_form=True,
    exportable=False,
    cheap_scores=False,
    float32_error=3.0,
)


def shortcuts(of):
    return {name for name in SHORTCUTS if getattr(of, name)}


class Quick(Declaring):
    declared = EVERYTHING
    computed_by = ("forward", "onward")

    def forward(self):
        return self.onward()

    def onward(self):
        return 1

    def describe(self):
        return "quick"


def test_a_class_that_declares_nothing_has_what_is_true_of_any_module():
    class Plain(Declaring):
        def forward(self):
            return 1

    assert Plain().capabilities == Capabilities()
    assert shortcuts(Plain().capabilities) == set()


def test_a_subclass_that_computes_the_same_keeps_all_that_was_declared():
    class Described(Quick):
        def describe(self):
            return "described"

    assert Described().capabilities == EVERYTHING


def test_a_subclass_that_overrides_forward_loses_the_shortcuts_and_nothing_else():
    class Other(Quick):
        def forward(self):
            return 2

    assert Other().capabilities == EVERYTHING.without_shortcuts()
    assert shortcuts(Other().capabilities) == set()
    assert replace(Other().capabilities, **dict.fromkeys(SHORTCUTS, True)) == EVERYTHING
    assert Quick().capabilities == EVERYTHING


def test_a_subclass_that_overrides_anything_forward_is_computed_by_loses_the_shortcuts():
    class Other(Quick):
        def onward(self):
            return 2

    assert shortcuts(Other().capabilities) == set()


def test_a_subclass_that_gets_another_forward_from_a_second_base_loses_the_shortcuts():
    class Doubling:
        def forward(self):
            return 2

    class Before(Doubling, Quick):
        pass

    class After(Quick, Doubling):
        pass

    assert Before().forward() == 2
    assert shortcuts(Before().capabilities) == set()
    assert After().forward() == 1
    assert After().capabilities == EVERYTHING


def test_what_was_lost_stays_lost_further_down():
    class Other(Quick):
        def forward(self):
            return 2

    class Further(Other):
        pass

    assert shortcuts(Further().capabilities) == set()


def test_a_subclass_that_overrides_forward_and_declares_anew_has_what_it_declares():
    class Own(Quick):
        declared = Capabilities(incremental=True)

        def forward(self):
            return 2

    class Further(Own):
        pass

    assert Own().capabilities == Further().capabilities == Capabilities(incremental=True)


def test_a_module_of_a_users_own_has_the_capabilities_of_any_module():
    class Own:
        def forward(self):
            return 1

    class Named:
        capabilities = "all of them"

    assert capabilities_of(Own()) == capabilities_of(Named()) == Capabilities()
    assert capabilities_of(Quick()) == EVERYTHING


def test_a_shortcut_is_taken_only_if_every_part_of_a_module_takes_it():
    for name in SHORTCUTS:
        lacking = replace(EVERYTHING, **{name: False})
        for whole, reader, other in (
            (lacking, EVERYTHING, EVERYTHING),
            (EVERYTHING, lacking, EVERYTHING),
            (EVERYTHING, EVERYTHING, lacking),
        ):
            assert shortcuts(whole.limited_by(reader, other)) == SHORTCUTS - {name}
    assert EVERYTHING.limited_by(EVERYTHING, EVERYTHING) == EVERYTHING


def test_of_a_module_made_of_parts_inputs_and_noise_are_those_of_the_part_that_reads_and_use_its_own():
    own_use = {"exportable", "cheap_scores"}
    found = EVERYTHING.limited_by(Capabilities(), EVERYTHING)
    for name in {field.name for field in fields(Capabilities)} - SHORTCUTS:
        assert getattr(found, name) == getattr(EVERYTHING if name in own_use else Capabilities(), name), name
