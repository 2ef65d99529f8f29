"""``engage_agent`` is what a session calls for each agent; ``previous_tool_output`` is what came before."""


def test_what_an_agent_is_engaged_with_is_the_first_that_it_reads(work):
    done = work("Done.", handed="The build failed: line 3.")
    (first,) = (event["first_message"] for event in done.events("AGENT_ENGAGE"))
    assert "The build failed: line 3." in first
    assert done.model.asked[0].messages[0].text == first
