"""Works that wait for a tool let the others go on, and each result is where its work was."""

from rails.gate.support.fix_and_lint import taking_turns


def work(name, steps, said):
    for step in range(steps):
        said.append(f"{name}{step}")
        yield
    return name


def test_each_goes_on_until_it_waits_and_results_are_in_order():
    said = []
    assert taking_turns([work("a", 2, said), work("b", 0, said), work("c", 3, said)]) == ["a", "b", "c"]
    assert said == ["a0", "c0", "a1", "c1", "c2"]


def test_nothing_to_do_has_no_results():
    assert taking_turns([]) == []
