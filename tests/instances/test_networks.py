"""Networks from files of many formats, and models of probabilities."""

import csv
import gzip
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from places import DATA

from instances import constant_probabilities, read_network, trivalency
from instances import weighted_cascade as cascade
from instances.networks.sheets import names_in
from oracles import DirectedGraph


def write(path, text, zipped=False):
    data = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(data) if zipped else data)
    return path


def ties(network):
    graph = network.graph
    chances = [None] * graph.n_arcs if graph.probabilities is None else graph.probabilities.round(6).tolist()
    ends = zip(graph.tails.tolist(), graph.heads.tolist(), chances, strict=True)
    return [(graph.label(u), graph.label(v), p) for u, v, p in ends]


def said(network):
    return " / ".join(network.told)


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Anna Bob\nBob Zoé\n", [("Anna", "Bob", None), ("Bob", "Zoé", None)]),
        ('"Anna Lee"  Bob 0.5\nBob "Zoé"\t0.25\n', [("Anna Lee", "Bob", 0.5), ("Bob", "Zoé", 0.25)]),
        ('source,target,p\r\n"Meyer, Anna",Bob,.5\r\n', [("Meyer, Anna", "Bob", 0.5)]),
        ("Name A;Name B;prob\nx;y;0,5\n", [("x", "y", 0.5)]),
        ("Anna Lee\tCy, D\t0.5\n", [("Anna Lee", "Cy, D", 0.5)]),
        ("prob|target|source\n0.5|y|x\n", [("x", "y", 0.5)]),
        ("x y {'weight': 0.5, 'kind': 'a b'}\n", [("x", "y", 0.5)]),
        ("x,y,{'weight': 0.5}\n", [("x", "y", 0.5)]),
        ("a,b\nb,c\n", [("a", "b", None), ("b", "c", None)]),
        ("id,friend\n7,9\n9,30\n", [(7, 9, None), (9, 30, None)]),
        ("a,1 b\nc d\ne f\n", [("a,1", "b", None), ("c", "d", None), ("e", "f", None)]),
        ('from,to\n"a ""b"" c",d\n', [('a "b" c', "d", None)]),
    ],
)
def test_columns(text, expected, zipped, tmp_path):
    assert ties(read_network(write(tmp_path / "net.csv", text, zipped))) == expected


HEADERS = """
    Person,Friend Ego,Alter src,dest u,v i,j x,y A,B V1,V2 source,target from,to Name,Friend_name Who,Knows
    user_id,friend_id FromNodeId,ToNodeId Employee,Colleague Sender,Recipient Follower,Followee p1,p2
    name,name Respondent,Nominee Your_name,Who_do_you_talk_to? Person_A,Person_B Student,Best_friend
    Author,Coauthor
    Parent,Child Origin,Destination nodeA,nodeB Name,Connected_with Von,Nach Label_A,Label_B Citing,Cited
    Wer,Mit_wem Kollege,Kollegin Absender,Empfänger Schülerin,Beste_Freundin Vorname,Freunde
    Nominator,Nominated first,second Staff,Works_with Kunde,Empfohlen_von Teilnehmer,Kontakt
"""


@pytest.mark.parametrize("header", HEADERS.split())
def test_titles_without_numbers_are_no_people(header, tmp_path):
    lines = f"{header.replace('_', ' ')}\nAnn,Bob\nBob,Cy\nDora,Ann Lee\n"
    again = lines + lines.partition("\n")[0] + "\n,\n"  # the header again, and an empty row
    for text in (
        lines,
        lines.replace(",", ";"),
        "A survey\n" + lines,
        '"A survey",\n' + again,
        "A survey, 2024\n\n" + lines,
    ):
        network = read_network(write(tmp_path / "net.csv", text))
        assert [(u, v) for u, v, _ in ties(network)] == [("Ann", "Bob"), ("Bob", "Cy"), ("Dora", "Ann Lee")]


@pytest.mark.parametrize(
    "text", ["a,b\nc,d\n", "V1,V2\nV3,V4\n", "Ann,Bob\nCy,Dora\n", "Ann Head,Bob\nCy,D\n"]
)
def test_a_first_tie_is_no_header(text, tmp_path):
    network = read_network(write(tmp_path / "net.csv", text))
    assert network.graph.n_arcs == 2
    assert "is read as a tie, and not as titles of columns" in said(network)


FORM = "Timestamp,Your name,Who do you talk to?\n"


@pytest.mark.parametrize(
    ("text", "expected", "words"),
    [
        (
            FORM
            + '2024/03/06 9:08:56 AM GMT+1,Ann Lee,Bob Ray\n"2024/03/06 9:10:01 PM GMT+1",bob  ray ,Cy\n',
            "Ann Lee-Bob Ray, Bob Ray-Cy",
            "differ in capitals only are one person: bob ray and Bob Ray",
        ),
        (
            FORM + '2024-03-06 09:08,Ann,"Bob, Cy"\n2024-03-06 09:10,D,"Ann; E"\n',
            "Ann-Bob, Ann-Cy, D-Ann, D-E",
            ": 2",
        ),
        (FORM + '2024-03-06 09:08,Ann,"Bob\nCy"\n06.03.2024,Eve,\n', "Ann-Bob, Ann-Cy", "1 name has no tie"),
        ("06.03.2024;Ann;Bob\n07.03.2024;Bob;Cy\n", "Ann-Bob, Bob-Cy", "columns that are not used: 1"),
        ('name,friends\nAnn,"Bob, Cy"\n', "Ann-Bob, Ann-Cy", "several names, of which each is a tie: 1"),
        ("Name,Friend 1,Friend 2\nAnn,Bob,Cy\nBob,Cy,\n", "Ann-Bob, Ann-Cy, Bob-Cy", "titles Name, Friend 1"),
        ('boss,who\nAnn,"Lee, Bob"\n', "Ann-Lee, Bob", "titles boss, who"),
        ('tag,with\n"#a",#b\n#c,d\n', "#a-#b, #c-d", "titles tag, with"),
        ("% a b\n# From To\nx y\n# c\ny z\n", "x-y, y-z", "begin with # or % are left out: 3"),
        ("Zoe\u0301,b\nb,Zo\u00e9\n", "Zoé-b, b-Zoé", "in both directions"),
        ("Name;Friends\nAnn;Bob / Cy\nDora;Ann and Eve\n", "Ann-Bob, Ann-Cy, Dora-Ann, Dora-Eve", ": 2"),
        ("Name,Friends\nAnn,Bob; Cy\nDora,Ann; Eve\n", "Ann-Bob, Ann-Cy, Dora-Ann, Dora-Eve", "by commas"),
        ("Name;1. Freund;2. Freund\nAnn;Bob;Cy\nDora;Ann;\n", "Ann-Bob, Ann-Cy, Dora-Ann", "3 ties"),
        ("Name,First friend,Second friend\nAnn,Bob,Cy\nDora,Ann,\n", "Ann-Bob, Ann-Cy, Dora-Ann", "3 ties"),
        ("Name,Friends,,\nAnn,Bob,Cy,Eve\nDora,Ann,,\n", "Ann-Bob, Ann-Cy, Ann-Eve, Dora-Ann", "4 ties"),
        (
            "When,E-Mail,Do you agree?,Name,Class,Age,Who?\n6 Mar 2024,a@x.org,yes,Ann,5a,9,Bob\n"
            "7 Mar 2024,b@x.org,no,Bob,5b,8,Cy\n",
            "Ann-Bob, Bob-Cy",
            "columns Name, Who?",
        ),
        ("Name,City,Friend,Home\nAnn,Rome,Bob,Oslo\nCy,Oslo,Dora,Rome\n", "Ann-Bob, Cy-Dora", "Name, Friend"),
        ("User,Full name,Whom?\nx1,Ann,Bob\nx2,Bob,Cy\n", "Ann-Bob, Bob-Cy", "columns Full name, Whom?"),
        ("Age,Name,Friend\n9,Ann,Bob\n8,Cy,Dora\n", "Ann-Bob, Cy-Dora", "columns Name, Friend"),
        ("Vorname;Name;Freund\nAnn;Lee;Bob Ray\nBob;Ray;Cy\n", "Ann Lee-Bob Ray, Bob Ray-Cy", "Vorname Name"),
        ("Ann -> Bob\nBob -> Cy\n", "Ann-Bob, Bob-Cy", "columns 1, 3"),
        ("Person,Friend,hours\nAnn,Bob,2\n\nTotal,,2\n", "Ann-Bob", "left out at the end: Total; 2"),
        ("Ann Lee,Bob\nann  lee,Cy\n", "Ann Lee-Bob, Ann Lee-Cy", "one person: ann lee and Ann Lee"),
        ("\u200bAnn,Bob\nBob,Ann\n", "Ann-Bob, Bob-Ann", "2 names"),
        ("ANN LEE,bob\nBob,Ann Lee\n", "Ann Lee-Bob, Bob-Ann Lee", "ANN LEE and Ann Lee, bob and Bob"),
        (FORM + "2024-03-06,Ann,I don’t know\n2024-03-07,Bob,Ann; Everybody\n", "Bob-Ann", "know, Everybody"),
        (FORM + "2024-03-06,,Ann\n2024-03-07,Bob,Cy\n2024-03-08,,\n", "Bob-Cy", "empty: line 2, 4"),
        ("a,b\nb,\n,c\nc,a\nc,d\n", "a-b, c-a, c-d", "left out, because a name is empty: line 3"),
        ("Name,Friend\nAnn,Bob\n,Cy\nDora,Ann\n", "Ann-Bob, Ann-Cy, Dora-Ann", "merged cells: line 3"),
        ("2024-03-06 09:08,Ann,Bob\n2024-03-06 09:10,Bob,Cy\n", "Ann-Bob, Bob-Cy", "separated by commas"),
        ("Ann: Bob, Cy\nDora Lee: Ann\nEve:\n", "Ann-Bob, Ann-Cy, Dora Lee-Ann", "separated by a colon"),
        ("A survey, 2024\nPerson,Friend\nAnn,Bob\n", "Ann-Bob", "above the header: A survey 2024"),
        ("A survey, 2024\n" + FORM + "2024-03-06,Ann,Bob\n", "Ann-Bob", "above the header: A survey 2024"),
        (
            "ego,alter\nA,B;nobody\nC,nobody\n-,D\nE,n/a\n",
            "A-B",
            "left out, because they are no names: nobody, -, n/a",
        ),
    ],
)
def test_exports_of_forms_and_names_with_marks(text, expected, words, tmp_path):
    network = read_network(write(tmp_path / "net.csv", text))
    assert ", ".join(f"{u}-{v}" for u, v, _ in ties(network)) == expected
    assert words in said(network)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le"])
def test_byte_order_marks(encoding, tmp_path):
    file = write(tmp_path / "net.csv", "from,to\nZoé,b\n".encode(encoding))
    assert ties(read_network(file)) == [("Zoé", "b", None)]


WRITERS = {
    ".graphml": nx.write_graphml,
    ".gml": nx.write_gml,
    ".gexf": nx.write_gexf,
    ".net": nx.write_pajek,
    ".edgelist": nx.write_edgelist,
    ".txt": nx.write_weighted_edgelist,
    ".adjlist": nx.write_adjlist,
}


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
@pytest.mark.parametrize("suffix", WRITERS)
def test_what_networkx_writes(suffix, kind, tmp_path):
    graph = kind()
    graph.add_weighted_edges_from([("Zoé", "b", 0.5), ("b", "c", 0.25), ("Zoé", "c", 0.125)])
    file = tmp_path / f"net{suffix}.gz"
    WRITERS[suffix](graph, file)
    # Text without a word on directions: these are asked for.
    asked = kind is nx.DiGraph if suffix in (".edgelist", ".txt", ".adjlist") else None
    network = read_network(file, directed=asked)
    both = graph.to_directed() if kind is nx.Graph else graph
    expected = {(u, v): None if suffix == ".adjlist" else p for u, v, p in both.edges(data="weight")}
    assert {(u, v): p for u, v, p in ties(network)} == expected
    assert network.directed is (kind is nx.DiGraph)


def test_names_of_nodes(tmp_path):
    graph = nx.Graph([(0, 1, {"p": 0.5})])
    graph.add_node(2)
    nx.set_node_attributes(graph, {0: "Anna", 1: "Bob", 2: "Cy"}, "name")
    nx.write_graphml(graph, tmp_path / "net.graphml")
    network = read_network(tmp_path / "net.graphml")
    assert ties(network) == [("Anna", "Bob", 0.5), ("Bob", "Anna", 0.5)]
    assert "1 name has no tie: Cy" in said(network)


@pytest.mark.parametrize(
    ("text", "asked", "directed", "words"),
    [
        ("a b\nb c\n", None, True, "because the file gives no direction"),
        ("a b\nb c\n", False, False, "both ways, as requested"),
        (
            "# Undirected graph (each unordered pair once)\n0 1\n",
            None,
            False,
            "a comment in the first lines states it",
        ),
        ("# Directed graph\n0 1\n", None, True, "a comment in the first lines states it"),
        ("% sym weighted\n1 2 3 1200000000\n", None, False, "column weight (3 to 3) has weights"),
        ("from,to\na,b\n", None, True, "a title is 'from'"),
        ("source,target,type\na,b,Undirected\n", None, False, "the column 'type' states it"),
        ("from,to,type\na,b,Directed\nb,c,Undirected\n", False, False, "both ways, as requested"),
        ("a b\nb a\n", False, True, "has each of them in both directions"),
    ],
)
def test_directions_are_told(text, asked, directed, words, tmp_path):
    file = write(tmp_path / "net", text)
    network = read_network(file, directed=asked)
    assert network.directed is directed and words in said(network)
    other = read_network(file, directed=asked, default_directed=False)
    assert other.directed is (directed and "gives no direction" not in words)


@pytest.mark.parametrize(
    ("text", "asked", "expected", "words"),
    [
        (
            "a,c,3\nb,c,1\n",
            {},
            [0.75, 0.25],
            "its weight over the sum of the weights of ties to the same name",
        ),
        ("a,c,0.3\nb,c,0.1\n", {}, [0.3, 0.1], "column 3 has the probabilities (0.1 to 0.3)"),
        ("a,c,0.3\nb,c,0.1\n", {"weight_column": "3"}, [0.75, 0.25], "has weights"),
        ("a,c,1\nb,c,1\n", {}, [0.5, 0.5], "has weights"),
        ("a,c,1\nb,c,1\n", {"probability_column": "3"}, [1.0, 1.0], "column 3 has the probabilities"),
        ("from,to,x,p,note\na,c,5,0.3,hm\n", {}, [0.3], "columns that are not used: x, note"),
        ("from,to,x,y\na,c,0.5,0.3\n", {"probability_column": "y"}, [0.3], "columns that are not used: x"),
        ("id,source,target\n7,a,c\n8,b,c\n", {}, None, "columns that are not used: id"),
        ("a,b,1,2\n", {}, None, "several columns have numbers, which are not used as weights: 3, 4"),
        ("Edge ID,source,target,x\n7,a,c,3\n8,b,c,1\n", {}, [0.75, 0.25], "are not used: Edge ID"),
        ("id,source,target\n3,a,c\n1,b,c\n", {"weight_column": "id"}, [0.75, 0.25], "column id (1 to 3)"),
        (",source,target,p2\n0,a,c,0.5\n1,b,c,1\n", {}, [0.5, 1.0], "columns that are not used: 1"),
        # A fault in a number of the first line: the cells show that it was taken for a header.
        ("a,b,x\nb,c,0.3\n", {}, [0.3], "with the titles a, b, x /"),
        ("a,c,0\n", {"weight_column": "3"}, [0.0], "has weights"),
    ],
)
def test_columns_of_numbers_are_used_and_told(text, asked, expected, words, tmp_path):
    network = read_network(write(tmp_path / "net.csv", text), **asked)
    if expected is None:
        assert network.graph.probabilities is None
    else:
        np.testing.assert_allclose(network.graph.probabilities, expected)
    assert words in said(network)


ALONE = ["from,to\na,b\nlonely\n", "from to\na b\n# c\nlonely\n", "from\tto\tp\na\tb\t0.5\nlonely\n"]
ALONE += ["a;b\nlonely\n", "p,from,to\n0.5,a,b\nlonely\n", "Ann A,b\nCy C,d\nlonely one\n"]


@pytest.mark.parametrize("text", ALONE)
def test_a_line_with_one_name_is_a_node_without_ties(text, tmp_path):
    network = read_network(write(tmp_path / "net.csv", text))
    assert "1 name has no tie" in said(network)
    names = {network.graph.label(node) for node in range(network.graph.n_nodes)}
    assert names & {"lonely", "lonely one"}
    assert len(ties(network)) == network.graph.n_nodes // 2


@pytest.mark.parametrize(
    ("text", "chances", "words"),
    [
        ("from,to,p\na,b,30%\nb,c,7.5 %\n", [0.3, 0.075], "column p has the probabilities (0.075 to 0.3)"),
        ("from,to,p,\na,b,0.3,\n", [0.3], "column p has the probabilities (0.3 to 0.3)"),
        (
            "from,to,p\na,b,0.3\na,b,0.3\n",
            [0.3, 0.3],
            "1 tie is a repetition, and each counts as an additional tie",
        ),
        (
            'from,to,weight\na,c,"1,500"\nb,c,"4,500"\n',
            [0.25, 0.75],
            "column weight (1,500 to 4,500) has weights",
        ),
        ("from,to,p\nZoé,Ann,0.3\n".encode("cp1252"), [0.3], "not UTF-8 and was read as Windows-1252"),
    ],
)
def test_what_spreadsheets_make_of_a_list(text, chances, words, tmp_path):
    network = read_network(write(tmp_path / "net.csv", text))
    np.testing.assert_allclose(network.graph.probabilities, chances)
    assert words in said(network)


FIVE = '*Vertices 5\n1 "Ann"\n2 "Bob Lee"\n3 O\'Brien\n4 "Dora"\n5 "Eve"\n'
GEXF = (
    '<gexf xmlns="http://gexf.net/1.3" version="1.3"><graph defaultedgetype="undirected"><nodes><node id="0"'
    ' label="Ann"/><node id="1" label="Bob"/><node id="2" label="{}"/></nodes><edges><edge source="0"'
    ' target="1"{}/><edge source="1" target="2"/></edges></graph></gexf>'
)
GML = 'graph\n[\n node [ id 0 label "Ann" ]\n node [ id 1 label "Bob\nLee" ]\n node [ id 2 ]\n'
MATRIX = ",Ann,Bob,Cy\nAnn,0,1,0\nBob,1,0,1\nCy,0,1,0\n"
PATH = "Ann-Bob, Bob-Ann, Bob-Cy, Cy-Bob"


@pytest.mark.parametrize(
    ("name", "text", "expected", "words"),
    [
        (
            "a.net",
            FIVE + "*Arcs\n1 2\n*Edges\n3 4\n",
            "Ann-Bob Lee, O'Brien-Dora, Dora-O'Brien",
            "1 of 2 ties",
        ),
        (
            "a.net",
            FIVE + '*Arcs :1 "likes"\n1 2\n*Arcs :2 "pays"\n3 4\n',
            "Ann-Bob Lee, O'Brien-Dora",
            "one way",
        ),
        ("a.net", FIVE + "*Arcslist\n1 4 5\n", "Ann-Dora, Ann-Eve", "5 names and 2 ties"),
        (
            "a.paj",
            "*Network x\n" + FIVE + "*Arcs\n1 4\n*Partition s\n*Vertices 5\n1\n2\n",
            "Ann-Dora",
            "without *Part",
        ),
        ("a.net", "*Vertices 3 2\n*Edges\n1 3\n", "1-3, 3-1", "1 name has no tie"),
        (
            "a.net",
            '*Vertices 3\n1 "x"\n2 "x"\n3 "y"\n*Arcs\n1 2\n2 3\n',
            "1-2, 2-y",
            "repeated label have their id as a name: 2",
        ),
        ("a.net", "*Vertices 2\n1 a\n2 b\n*Matrix\n0 1\n0 0\n", "a-b", "Pajek"),
        (
            "a.gexf",
            GEXF.format("Cy", ' type="directed"'),
            "Ann-Bob, Bob-Cy, Cy-Bob",
            "1 of 2 ties go one way",
        ),
        ("a.gexf", GEXF.format("Bob", ""), "Ann-1, 1-Ann, 1-2, 2-1", "have their id as a name: 2"),
        (
            "a.gml",
            GML + "edge [ source 0 target 1 ]\nedge [ source 0 target 1 ]\n]",
            "Ann-Bob Lee, Bob Lee-Ann, Ann-Bob Lee, Bob Lee-Ann",
            "1 tie is a repetition",
        ),
        ("a.csv", MATRIX, PATH, "a matrix of 3 rows"),
        ("a.csv", "A survey\n" + MATRIX.replace("0", "-"), PATH, "a matrix of 3 rows"),
        ("a.csv", MATRIX.replace("0", "").replace("1", "x"), PATH, "a matrix of 3 rows"),
        (
            "a.csv",
            "When,Name,Who? [Ann],Who? [Bob],Who? [Cy]\n2024-03-06,Cy,no,yes,no\n2024-03-06,Bob,yes,no,no\n",
            "Cy-Bob, Bob-Ann",
            "3 names and 2 ties",
        ),
        ("a.csv", "Name,Ann,Bob,Cy\nCy,,x,\nBob,x,,\n", "Cy-Bob, Bob-Ann", "a matrix of 2 rows"),
        ("a.csv", "Ann,Bob,Cy\n0,1,0\n1,0,1\n0,1,0\n", PATH, "a matrix of 3 rows"),
        ("a.txt", "0 1 0\n0 0 1\n0 0 0\n", "1-2, 2-3", "a matrix of 3 rows"),
        (
            "a.mtx",
            "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 1\n2 1\n",
            "2-1, 1-2",
            "Matrix Market",
        ),
        (
            "a.csv",
            "from,to,Type\nAnn,Bob,Directed\nBob,Cy,Undirected\n",
            "Ann-Bob, Bob-Cy, Cy-Bob",
            "1 of 2 ties",
        ),
        (
            "a.csv",
            "Ann Lee,ann-lee\nBob,Cy\n",
            "Ann Lee-ann-lee, Bob-Cy",
            "look alike and may be one: Ann Lee and ann-lee",
        ),
    ],
)
def test_what_other_programs_write(name, text, expected, words, tmp_path):
    network = read_network(write(tmp_path / name, text))
    assert ", ".join(f"{u}-{v}" for u, v, _ in ties(network)) == expected
    assert words in said(network)


def test_left_out_weights_are_one_and_options_choose_columns(tmp_path):
    heavy = read_network(write(tmp_path / "a.gexf", GEXF.format("Cy", ' weight="3"')))
    np.testing.assert_allclose(heavy.graph.probabilities, [0.75, 1.0, 1.0, 0.25])
    file = write(tmp_path / "a.csv", "a,who,whom,rating,time\n1,Ann,Bob,-3,7\n2,Bob,Cy,10,8\n")
    network = read_network(file, from_column="whom", to_column="who", ties_only=True)
    assert ties(network) == [("Bob", "Ann", None), ("Cy", "Bob", None)]
    assert "the names are those of the columns whom, who" in said(network)
    mixed = write(tmp_path / "b.gexf", GEXF.format("Cy", ' type="directed"'))
    assert [read_network(mixed, directed=way).graph.n_arcs for way in (None, True, False)] == [3, 2, 4]


@pytest.mark.parametrize("encoding", ["iso-8859-1", "windows-1250", "utf-16", "utf-8"])
def test_xml_states_its_encoding(encoding, tmp_path):
    text = f'<?xml version="1.0" encoding="{encoding}"?>' + GEXF.format("Zo\u00e9", "")
    network = read_network(write(tmp_path / "a.gexf", text.encode(encoding)))
    assert network.graph.label(2) == "Zo\u00e9" and "Windows-1252" not in said(network)


def test_a_workbook(tmp_path, monkeypatch):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("openpyxl")
    file = tmp_path / "a.xlsx"
    table = {"Person": ["Ann", "Bob"], "Friend": ["Bob", "Zo\u00e9"], "weight": [1, 3]}
    pd.DataFrame(table).to_excel(file, index=False)
    assert ties(read_network(file)) == [("Ann", "Bob", 1.0), ("Bob", "Zo\u00e9", 1.0)]
    days = pd.DataFrame(
        {"Start": pd.to_datetime(["2024-03-06"] * 2), "A": ["Ann Lee", "Bob"], "B": ["Bob", "Cy"]}
    )
    with pd.ExcelWriter(file) as book:
        days.to_excel(book, index=False)
        days.to_excel(book, sheet_name="more")
    network = read_network(file)
    assert [(u, v) for u, v, _ in ties(network)] == [("Ann Lee", "Bob"), ("Bob", "Cy")]
    assert network.preview.rows[0] == ("2024-03-06", "Ann Lee", "Bob")
    for words in ("only the sheet Sheet1 is read, without more", "in a workbook, with the titles Start"):
        assert words in said(network)
    pd.DataFrame().to_excel(file, index=False)
    with pytest.raises(ValueError, match="must not be empty"):
        read_network(file)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ValueError, match="-m pip install pandas openpyxl; or save it as CSV"):
        read_network(file)


BROUGHT = DATA / "brought"
# The people and the arcs where `expected.csv` leaves a choice.
CHOSEN = {"form_many.csv": (5, 8), "matrix.csv": (3, 4), "matrix_market.mtx": (3, 4)}


def test_files_as_people_bring_them():
    if not BROUGHT.exists():
        pytest.skip(f"the folder {BROUGHT} is not here")
    found, expected = {}, {}
    for row in csv.DictReader((BROUGHT / "expected.csv").read_text(encoding="utf-8").splitlines()):
        name, way = row["file"], False if "--undirected" in row["expected"] else None
        way = None if name == "mixed_directions.gexf" else way
        if name != "one_weight_missing.csv":
            graph = read_network(BROUGHT / name, directed=way, ties_only=name == "signed.csv").graph
            found[name] = (graph.n_nodes, graph.n_arcs)
            expected[name] = CHOSEN.get(name) or (int(row["people"]), int(row["arcs"]))
    assert found == expected
    with pytest.raises(ValueError, match="line 3, column strength"):
        read_network(BROUGHT / "one_weight_missing.csv")


@pytest.mark.parametrize(
    ("name", "text", "asked", "message"),
    [
        ("net.csv", "b\na,b\n", {}, "net.csv, line 1: a line must have two names, .*, got 'b'"),
        (
            "net.csv",
            "a,b,1\na,b\n",
            {},
            r"net.csv, line 2: a line must have 3 cells, as the first line, separated by commas, got 'a",
        ),
        ("net.csv", "from,to,Type\na,b,Undirected\nb,c,\n", {}, "Type must have Directed .* got nothing"),
        ("net.csv", "from;to;weight\na;b;1,200\nb;c;9\n", {}, "column weight: 1,200 may mean 1200 or 1.2"),
        ("net.csv", "a,b\n", {"from_column": "x"}, "must have a column 'x', got 1, 2"),
        ("net.csv", "Name\nAnn\nBob\n", {}, "got one column; names alone are a list of items without ties"),
        ("net.csv", "Name\nAnn Lee\nBob Ray\nCy Orr\n", {}, "names alone are a list of items without ties"),
        ("net.csv", "name,age\nAnn,7\nBob,8\n", {}, "got a table of people only"),
        ("net.csv", "% bip unweighted\n1 1\n1 2\n", {}, "got ties of two kinds"),
        ("net.csv", "%PDF-1.4\n1 0 obj\n", {}, "is a PDF, which is not read; save it as CSV or GraphML"),
        ("net.csv", "<html><p>a,b</p></html>", {}, "is a page of the web"),
        ("net.dot", "graph x { a -- b; }", {}, "in the format of Graphviz"),
        ("net.txt", "dl n=3 format=edgelist1\ndata:\n1 2\n", {}, "in the format of UCINET"),
        ("net.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 3 1\n1 3\n", {}, "a square matrix"),
        ("net.net", "*Vertices 2\n*Edges\n1 3\n", {}, "vertices from 1 to 2, got '1 3' in line 3"),
        ("net.net", "*Vertices two\n", {}, "must be Pajek"),
        ("net.xlsx", b"PK\x03\x04 no workbook", {}, "a whole workbook"),
        ("net", "a b\n\n# c\na b c d\n", {}, "net, line 4: a line must have two names, got 'a; b; c; d'"),
        ("net.csv", "from,to,p\na,b,1.5\n", {}, r"line 2, column p: a probability must be in \[0, 1\]"),
        ("net.csv", "from,to,weight\na,b,-1\n", {}, "line 2, column weight: a weight must be .* got '-1'"),
        ("net.csv", "a,b,1\nc,d,high\n", {"weight_column": "3"}, "line 2, column 3: .* got 'high'"),
        (
            "net.csv",
            "person,friend,closeness\na,b,2\nb,c,\nd,e,1\n",
            {},
            "line 3, column closeness: .* got ''",
        ),
        ("net.csv", "a,b,c\nb,c,a\n", {}, "column 3 has names, too, as in a list of neighbours"),
        ("net.csv", "A survey,\na,b\n", {}, "line 1: a line must have two names.* got 'A survey'"),
        ("net.csv", "a,b\n", {"probability_column": "p"}, "must have a column 'p', got only the two names"),
        ("net.csv", 'a,b\n"b,c\n', {}, "line [23]: must be columns"),
        ("net", "a b {'weight': }\n", {}, "must be edge list of networkx, but is damaged;"),
        ("net.csv", "", {}, "must not be empty"),
        ("net.csv", "id,name\n1,Ann\n\nfrom,to\n1,2\n", {}, "line 4: a second table must not follow"),
        ("net.csv", "id,name\n1,Ann\n2,Bob\n", {}, "got a table of people only"),
        ("net.csv", "from,to\n", {}, "no more than a header"),
        ("net.graphml", "<graphml>\n<x></graphml>", {}, "must be GraphML, but is damaged in line 2; export"),
        ("net.gml", "graph [\n node [\n id 0\n", {}, "must be GML, but is damaged in line 4;"),
        ("net.json", '{"nodes": 3}', {}, "is in JSON, which is not read; save it as CSV or GraphML"),
        ("net", '[["Ann", "Bob"]]', {}, "is in JSON"),
        ("net.csv", b"a,\x81\xe9\n", {}, "must be text in UTF-8"),
    ],
)
def test_faults_are_named(name, text, asked, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        read_network(write(tmp_path / name, text), **asked)


@pytest.mark.parametrize(
    ("text", "n_nodes"),
    [("0 1\n1 2\n", 3), ("7 9\n9 30\n", 3), ("3 2\n0 3\n3 1\n", 4), ("5 2\n0 3\n3 1\n", 5)],
)
def test_a_first_line_with_both_numbers_is_no_tie(text, n_nodes, tmp_path):
    """If its second number is the number of lines below and its first is larger than every id in them."""
    network = read_network(write(tmp_path / "g", text))
    assert network.graph.n_nodes == n_nodes
    assert ("the numbers of names and ties" in network.told[0]) is (n_nodes == 5)


EVERY = "a".join(map(chr, range(sys.maxunicode + 1)))
BREAKS = {line[-1] for line in EVERY.splitlines(keepends=True)[:-1]} - {"\n", "\r"}


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_comment_ends_with_its_line(line_end, tmp_path):
    """Whatever else Python takes for the end of a line: else its rest would be edges."""
    for char in BREAKS:
        text = f"# see{char}5 6{line_end}0 1{line_end}"
        assert ties(read_network(write(tmp_path / "g", text))) == [(0, 1, None)], repr(char)


@pytest.mark.parametrize("cut", [5, 30, -3])
def test_truncated_gzip(cut, tmp_path):
    text = "".join(f"{i} {i * 7919 % 1000}\n" for i in range(1, 500))
    file = write(tmp_path / "cut.gz", gzip.compress(text.encode())[:cut])
    with pytest.raises(ValueError, match=r"cut\.gz must be a complete gzip file"):
        read_network(file)


def test_probability_models():
    graph = DirectedGraph.from_edges([0, 1, 1, 2], [2, 2, 2, 0])
    assert np.allclose(cascade(graph), [1 / 3, 1 / 3, 1 / 3, 1])
    assert constant_probabilities(graph, 0.3).tolist() == [0.3] * 4
    large = DirectedGraph.from_edges(np.zeros(9000, int), np.arange(1, 9001))
    drawn = trivalency(large, np.random.default_rng(0))
    # 9,000 draws: a share is off by 0.025 with probability below 1e-6 (five standard errors of 0.005).
    assert all(abs((drawn == p).mean() - 1 / 3) < 0.025 for p in (0.1, 0.01, 0.001))
    with pytest.raises(ValueError, match="probability"):
        constant_probabilities(graph, 1.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "directed", "nodes", "arcs_read"),
    [("nethept_imm", True, 15_229, 62_752), ("nethept_chen", False, 15_233, 2 * (58_891 - 39))],
)
def test_shared_graphs(name, directed, nodes, arcs_read):
    file = DATA / f"{name}.txt.gz"
    if not file.exists():
        pytest.skip(f"{file} is not here")
    graph = read_network(file, directed=directed).graph
    assert (graph.n_nodes, graph.n_arcs) == (nodes, arcs_read)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("id,name\n1,Ann\n2,Bob\n", "Ann|Bob"),
        ("sep=;\nid;name\n1;Ann\n2;Bob\n", "Ann|Bob"),
        ("Tea, green\nMilk\n", "Tea, green|Milk"),
        ("Meyer, Anna\nLee, Bob\n", "Meyer, Anna|Lee, Bob"),
        ("1\tTea, green, hot\n2\tMilk", "Tea, green, hot|Milk"),
        ("id;Drink\n1;Tea\n2;Milk", "Tea|Milk"),
        ("Price,Offer\n3,Tea\n4,Milk\n", "Tea|Milk"),
        ("Our drinks\n\nArtikel;Preis\nTea;3\nMilk;4\n;\nSumme;7\n", "Tea|Milk"),
        ("Timestamp,E-Mail,Name\n2024-03-06 09:08,a@x,Ann\n2024-03-06 09:09,b@x,Bob\n", "Ann|Bob"),
        ("Ann, Bob, Cy", "Ann|Bob|Cy"),
        ("Meyer, Anna; Lee, Bob", "Meyer, Anna|Lee, Bob"),
        ('"#metoo"\n# a comment\n#now\nplain', "#metoo|#now|plain"),
        ("Ann\nnobody\n-\nN/A\nBob", "Ann|Bob"),
        ("id,name\n1,Ann\n\nfrom,to\n1,2\n", "refused: line 4: a second table must not follow"),
        ("Ann\nBob\nAnn\n", "Ann|Bob"),
        ("name,cost\nAnn,2\n,3\n", "Ann"),
        ("nobody\n", "refused: 1 to 100,000 names, got 0"),
        ("Name,Friend\nAnn,Bob\nBob,Cy\n", "refused: got two columns of names, as those of people"),
    ],
)
def test_lists_as_people_bring_them(text, names):
    if names.startswith("refused: "):
        with pytest.raises(ValueError, match=names.removeprefix("refused: ")):
            names_in(Path("list.csv"), text)
    else:
        assert "|".join(names_in(Path("list.csv"), text)[0]) == names
