"""Look-up by purpose: the node that a person would take is among the first three."""

import pytest

from rails.n8n.info.purpose import by_purpose
from rails.n8n.nodes import catalogue

BASE, AI = "n8n-nodes-base", "@n8n/n8n-nodes-langchain"
PURPOSES = {
    "send a Slack message": f"{BASE}.slack",
    "post to a Discord channel": f"{BASE}.discord",
    "send an email over SMTP": f"{BASE}.emailSend",
    "send an email with Gmail": f"{BASE}.gmail",
    "when a new email arrives in Gmail": f"{BASE}.gmailTrigger",
    "read emails from an IMAP inbox": f"{BASE}.emailReadImap",
    "call a REST API": f"{BASE}.httpRequest",
    "download a file from a URL": f"{BASE}.httpRequest",
    "receive an HTTP request": f"{BASE}.webhook",
    "answer the webhook caller": f"{BASE}.respondToWebhook",
    "run every hour": f"{BASE}.scheduleTrigger",
    "run every Monday morning": f"{BASE}.scheduleTrigger",
    "start by hand for a test": f"{BASE}.manualTrigger",
    "append a row to Google Sheets": f"{BASE}.googleSheets",
    "when a row is added to a Google Sheet": f"{BASE}.googleSheetsTrigger",
    "upload a file to Google Drive": f"{BASE}.googleDrive",
    "create a Google Calendar event": f"{BASE}.googleCalendar",
    "query a Postgres database": f"{BASE}.postgres",
    "insert rows into MySQL": f"{BASE}.mySql",
    "find documents in MongoDB": f"{BASE}.mongoDb",
    "cache a value in Redis": f"{BASE}.redis",
    "run custom JavaScript": f"{BASE}.code",
    "set fields on an item": f"{BASE}.set",
    "rename a field": f"{BASE}.renameKeys",
    "check a condition and branch": f"{BASE}.if",
    "route items to several outputs by rules": f"{BASE}.switch",
    "keep only items that match a condition": f"{BASE}.filter",
    "merge two branches": f"{BASE}.merge",
    "loop over items in batches": f"{BASE}.splitInBatches",
    "split a list into separate items": f"{BASE}.splitOut",
    "combine items into a single array": f"{BASE}.aggregate",
    "sum a column grouped by another": f"{BASE}.summarize",
    "sort items by date": f"{BASE}.sort",
    "remove duplicate items": f"{BASE}.removeDuplicates",
    "keep the first 10 items": f"{BASE}.limit",
    "wait five minutes": f"{BASE}.wait",
    "format a date": f"{BASE}.dateTime",
    "call another workflow": f"{BASE}.executeWorkflow",
    "when called by another workflow": f"{BASE}.executeWorkflowTrigger",
    "when another workflow fails": f"{BASE}.errorTrigger",
    "stop with an error": f"{BASE}.stopAndError",
    "read an RSS feed": f"{BASE}.rssFeedRead",
    "create a GitHub issue": f"{BASE}.github",
    "create a Jira ticket": f"{BASE}.jira",
    "create a Notion page": f"{BASE}.notion",
    "send a Telegram message": f"{BASE}.telegram",
    "send an SMS": f"{BASE}.twilio",
    "parse a CSV file": f"{BASE}.extractFromFile",
    "make an Excel file": f"{BASE}.convertToFile",
    "extract text from HTML": f"{BASE}.html",
    "hash a value with sha256": f"{BASE}.crypto",
    "an AI agent that uses tools": f"{AI}.agent",
    "summarize a long document with an LLM": f"{AI}.chainSummarization",
    "classify text into categories": f"{AI}.textClassifier",
    "a chat window for users": f"{AI}.chatTrigger",
    "OpenAI chat model": f"{AI}.lmChatOpenAi",
    "let the agent remember the conversation": f"{AI}.memoryBufferWindow",
    "semantic search in documents": f"{AI}.vectorStoreInMemory",
    "run a shell command": f"{BASE}.executeCommand",
    "watch a form for submissions": f"{BASE}.formTrigger",
}


@pytest.mark.parametrize(("purpose", "expected"), PURPOSES.items())
def test_the_expected_node_is_among_the_first_three(purpose, expected):
    assert expected in by_purpose(purpose, catalogue.current())[:3]


def test_words_that_mean_nothing_find_nothing():
    assert by_purpose("the a of", catalogue.current()) == []
    assert by_purpose("qwertyuiop zzz", catalogue.current()) == []


def test_every_described_type_is_one_that_n8n_has():
    from rails.n8n.info import purpose

    assert set(purpose._words()) - {""} <= set(catalogue.names_only().versions)
