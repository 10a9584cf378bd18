"""The JSON interface does what its OpenAPI description says."""

import pytest
from served_pages import NETWORK, Page

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return Page(tmp_path_factory.mktemp("campaigns"))


@pytest.fixture(scope="module")
def described(page):
    return call(page, "get", "/openapi.json", 200)


def call(page, method, path, status, body=None, key=None):
    headers = {"Authorization": f"Bearer {page.access.token if key is None else key}"}
    answer = page.client.request(method, f"/api/v1{path}", json=body, headers=headers)
    assert answer.status_code == status, answer.text
    return answer.json()


def check(described, name, content):
    jsonschema = pytest.importorskip("jsonschema")
    schema = {"$ref": f"#/components/schemas/{name}", "components": described["components"]}
    jsonschema.validate(content, schema)
    return content


def test_a_campaign_by_the_interface(page, described):
    new = {"title": "By program", "network": NETWORK, "directed": False, "k": 2}
    made = check(
        described, "Campaign", call(page, "post", "/campaigns", 201, check(described, "NewCampaign", new))
    )
    place = f"/campaigns/{made['id']}"
    first = check(
        described, "Round", call(page, "post", f"{place}/rounds", 201, {"version": made["version"]})
    )
    assert len(first["reasons"]) == 2
    again = {"version": first["version"], "without": [first["names"][0]], "instead_of": 1}
    second = check(described, "Round", call(page, "post", f"{place}/rounds", 201, again))
    assert first["names"][0] not in second["names"]
    told = {"mark": second["mark"], "joined": dict.fromkeys(second["names"], 0)}
    report = check(described, "Round", call(page, "post", f"{place}/rounds/1/report", 200, told))
    assert report["state"] == "reported" and report["count"] == 2.0
    call(page, "post", f"{place}/rounds/1/report", 409, told)  # the same request again
    told = {"mark": report["mark"], "count": 4, "asked": ["Meyer, Zoé"]}
    report = check(described, "Round", call(page, "post", f"{place}/rounds/1/report", 200, told))
    assert report["corrected"] and report["names"] == told["asked"]
    state = check(described, "Campaign", call(page, "get", place, 200))
    call(page, "post", f"{place}/undo", 200, {"version": state["version"]})
    rounds = call(page, "get", f"{place}/rounds", 200)["rounds"]
    assert [of["state"] for of in rounds] == ["reported"] and rounds[0]["count"] == 2.0
    call(page, "get", "/campaigns", 200)


def test_refusals_are_sentences(page):
    for method, path, status, body in (
        ("get", "/campaigns/none", 404, None),
        ("post", "/campaigns", 400, {"title": "x"}),
        ("post", "/campaigns", 400, {"title": 7}),
        ("get", "/campaigns/none/rounds/1", 404, None),
        ("get", "/nothing", 404, None),
    ):
        assert call(page, method, path, status, body)["error"]
    assert call(page, "get", "/campaigns", 401, key="wrong")["error"]
    assert (
        page.client.post(
            "/api/v1/campaigns",
            content="[1",
            headers={"Authorization": f"Bearer {page.access.token}", "Content-Type": "application/json"},
        ).status_code
        == 400
    )
