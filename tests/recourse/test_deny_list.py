"""Which kinds of ties are never suggested: a table in each direction."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from recourse_audit.errors import SettingsError
from recourse_audit.graph.arrays import from_arrays
from recourse_audit.graph.graph import Graph
from recourse_audit.recourse.actions import ADD, DROP, action_table
from recourse_audit.recourse.deny_list import TABLE, denied_topic, is_denied
from tests.recourse.worlds import policy_of, reasons, town

DENIED = {
    "kinship": """
        wife, wives, WIFE, Wives, ex-wife, son, sons, stepson, step-son, step_sons, grandson
        son-in, grandsons, godson, daughter, granddaughters, daughter-in-law, in-law, in-laws
        inlaws, grandchildren, grandchild, great-grandchild, child, children, childOf, child_2
        fAmily, FAMILY, FAMILIES, family, families, Familial, family_member, sameFamily, household_2
        extended family
        f\u200bamily, \uff46amily, fiancée, fiance, Fiancé, fiancées, fiancee, spouse, spousal
        spouses, husband, husbands, marriage, married_to, marital, wedding guest, widow, widower
        divorced, betrothed, mother, mothers, grandmother, stepmother, godmother, mother-in-law
        motherhood, maternal, father, godfathers, stepfather, parent, parents, parental
        grandparents, co-parents, brother, half-brother, sisters, stepsister, siblings
        SIBLING_OF, twin, cousin, cousins, aunt, uncles, nephew, niece, kin, kinship, kinsman
        kindred, next-of-kin, relative, relatives, guardian, foster parent, adoption, adopted
        dependants, partner, life partner, girlfriend, boyfriends, significant other, Familie
        Familienmitglied, Großfamilie, Ehe, Ehefrau, Ehemann, Ehepartner, Ehegatten, Mutter
        Mütter, Muetter, Großmutter, Schwiegermutter, Vater, Stiefvater, Väter, Eltern
        Großeltern, Elternteil, Sohn, Söhne, Stiefsohn, Tochter, Töchter, Enkelsohn, Enkelin
        Geschwister, Bruder, Brüder, Schwester, Schwestern, Kinder, Stiefkind, Onkel, Tante
        Neffe, Nichte, Cousine, Schwager, Schwägerin, Verwandte, Verwandtschaft, Angehörige
        Verlobte, Lebensgefährte, Lebenspartnerin, Partnerschaft, Vormund, Patenkind
        verheiratet, Witwe, famille, Belle-famille, mère, grand-mère, père, beau-père, frère
        sœur, sœurs, fils, petit-fils, fille, enfants, petits-enfants, époux, épouse, mari
        femme, conjoint, conjointe, fiancé, neveux, nièces, tante, oncle, parrain, marraine
        tuteur, veuve, petite amie, familia, familiares, vínculo familiar, madre, padre, hijo
        hijas, nietos, abuela, hermano, hermanas, esposo, esposa, marido, mujer, cónyuge, novia
        suegra, yerno, nuera, cuñado, sobrinos, primo, padrino, madrina, pareja, matrimonio
        viuda, civilPartnership, emergency_contact, kinsfolk, Erbin, Erbengemeinschaft, héritière
        heredero
    """,
    "household": """
        household, same-household, households, HouseHold, house-hold, housewife, housewives
        roommate, flat-mates, housemates, cohabitant, co-habitants, carer, caregivers
        lives with, Haushalt, Haushaltsmitglied, Mitbewohner, Wohngemeinschaft, Hausfrau, ménage
        foyer, hogar, conviviente, compañero de piso
    """,
    "health": """
        midwife, midwives, doctor, Doctors, Doctor of, physician, nurse, nursing home, hospital
        clinic, clinics, patient, patients, therapist, psychotherapist, psychologist
        psychiatrists, physiotherapy, health, healthcare, health insurance, medical, dentist
        disability, pharmacy, Arzt, Ärztin, Aerztin, Zahnarzt, Hausärzte, Krankenkasse
        Krankenhaus, Krankenschwester, Hebamme, Klinik, Klinikum, Patientin, Therapeut
        Psychologin, Pflegerin, Gesundheitsamt, Apotheke, Behinderung, médecin, infirmière
        hôpital, clinique, sage-femme, santé, maladie, thérapeute, pharmacien, médico, enfermera
        salud, paciente, terapeuta, psicóloga, comadrona, discapacidad, general_practitioner
        dialysis, vaccination, prescriptions
    """,
    "counsel": """
        notary, notaries, Notarin, notaires, notario
        lawyer, lawyers, attorney, solicitor, barrister, counsel, counsellor, debt-counselor
        confessor, chaplain, law firm, legal aid, social worker, Anwalt, Anwältin, Rechtsanwälte
        Rechtsberatung, Beichtvater, Seelsorger, Schuldnerberatung, avocat, avocate, confesseur
        aumônier, conseiller juridique, abogado, abogadas, confesor, asesor jurídico
    """,
    "union": """
        union, unions, tradeUnion, trade-unionist, trade unionists, TRADE_UNION, union/branch
        unionised, labour union, works council, shop steward, political, political party
        politics, politician, activist, protest, Gewerkschaft, Gewerkschaftsmitglied
        Betriebsrat, Partei, Parteimitglied, Politiker, syndicat, syndicats, syndicaliste
        syndiqué, militant, politique, sindicato, sindical, político
    """,
    "faith": """
        church, churches, church_members, churchgoer, mosque, synagogue, temple, parish
        parishioner, congregation, clergy, pastor, priest, rabbi, imam, religion
        religious order, faith, monastery, muslim, Jewish, Catholic, Kirche, Kirchengemeinde
        Moschee, Synagoge, Pfarrer, Priester, Glaubensgemeinschaft, Konfession, église, paroisse
        mosquée, prêtre, curé, iglesia, parroquia, mezquita, sacerdote, sinagoga
    """,
    "origin": """
        origin, same_origin, ethnicity, ethnic group, race, racial, nationality, tribe, tribal
        clan, caste, immigrant, refugees, asylum, citizenship, place of birth, mother tongue
        Herkunft, Nationalität, Staatsangehörigkeit, Flüchtling, Migranten, Landsleute, ethnie
        origine, nationalité, immigrés, réfugiée, tribu, raza, etnia, nacionalidad, origen
        inmigrante
    """,
}
ORDINARY = """
    guarantor, guarantors, co-borrower, co_borrowers, coBorrower, employer, employee, colleague
    address, same address, other apartment, payment, payments, standing payment, transfer
    supplier, customer, client, vendor, buyer, seller, tenant, landlord, neighbour, neighbor
    friend, contact, follower, follows, member_of, manager, director, shareholder, owner
    co-owner, board member, auditor, accountant, broker, agent, insurer, insurance, bank, branch
    account, joint account, loan, co-signer, cosigned, mortgage, lease, deposit, invoice
    purchase, order, device, shared ip, phone, e-mail, email, card, merchant, school, classmate
    teacher, student, co-author, cites, citation, reference, referee, referral, mentor, coach
    team, teammate, club, sports club, familiar, familiar-with, familiarity, unfamiliar, kind
    kinds, kindly, person, personal, reason, season, lesson, comparison, mason, unison, sonar
    song, sonic, reunion, reunited, unique, unit, churchill, transparent, apparent, parenthesis
    haunted, carbuncle, resister, market, mark, remark, marriott, hospitality, hospitable
    doctorate, racetrack, bracelet, embrace, trace, traced, embraced, clandestine, tribute
    tribunal, contribution, distributor, syndicated loan, syndicate, syndic, creditor, Gläubiger
    Schuldner, Bürge, Mitkreditnehmer, Arbeitgeber, Kollege, Zahlung, Lieferant, Anschrift
    Nachbar, Vermieter, Mieter, Kunde, Geschäftspartner, Handelspartner, Vertragspartner
    Muttergesellschaft, Tochterfirma, Tochtergesellschaften, Stiefel, ehemalig
    ehemaliger Arbeitgeber, Patent, patents, Betriebsangehörige, parent company, parentCompany
    sister companies, child account, business partner, trading-partners, BusinessPartner
    credit union, western union, customs union, unionbank, employeur, collègue, garant, virement
    fournisseur, voisin, adresse, compte conjoint, client fidèle, empleador, avalista, pago
    proveedor, vecino, domicilio, prima de seguro, compañero de trabajo, payment in kind
    mankind, originator, loan origination, original, migration, data migration, date, mandate
    update, santander, avocado, jewel, jewellery, rabbit, custodian, custody account, wedge
    bridge, bridging loan, groomed, foundation, network, tie, 0, 17, rel_3, financial health
    origin-destination, twin city, relative weight
"""


def kinds(text: str) -> list[str]:
    return [kind.strip() for line in text.strip().splitlines() for kind in line.split(",")]


NEVER = [(kind, topic) for topic, text in DENIED.items() for kind in kinds(text)]


def test_the_tables_are_large_enough_to_mean_something() -> None:
    assert len({kind for kind, _ in NEVER}) >= 150
    assert len(set(kinds(ORDINARY))) >= 100
    assert set(DENIED) == set(TABLE["words"]) == set(TABLE["phrases"])


def test_kinds_that_are_never_suggested() -> None:
    assert [kind for kind, _ in NEVER if denied_topic(kind) is None] == []


def test_ordinary_kinds() -> None:
    ordinary = [*kinds(ORDINARY), "", " ", "_", "K/17", "😀"]
    assert [kind for kind in ordinary if denied_topic(kind) is not None] == []


def test_the_topic_is_named() -> None:
    topics = {
        "midwife": "health",
        "housewife": "household",
        "wife": "kinship",
        "Gewerkschaftsmitglied": "union",
        "member of a church": "faith",
        "Rechtsanwältin": "counsel",
        "Staatsangehörigkeit": "origin",
    }
    assert {kind: denied_topic(kind) for kind in topics} == topics


@pytest.mark.parametrize("kind", ["familie", "Krankenkasse", "époux", "cuñado", "wives"])
def test_case_and_separators_make_no_difference(kind: str) -> None:
    for written in (kind.upper(), kind.title(), f"same_{kind}", f"{kind}-2"):
        assert is_denied(written)


@pytest.mark.parametrize("kind", ["midwives", "fiancée", "fAmily", "in-laws", "trade-unionist"])
def test_without_any_rule_dropping_such_a_tie_is_not_suggested(kind: str) -> None:
    graph = town(kinds=(kind, "payment"))
    policy = policy_of(graph)
    assert policy.denied.tolist() == [one == kind for one in graph.ties.kinds]
    for subject in range(graph.node_count):
        table = action_table(policy, subject, 2)
        assert {one.kind for one in table.droppable} <= {"payment"}
    ties = graph.ties
    rows = zip(ties.source.tolist(), ties.target.tolist(), ties.kind.tolist(), strict=True)
    for first, second, code in rows:
        if first != second and ties.kinds[code] == kind:
            ends = f"{graph.ids[first]}-{graph.ids[second]}"
            said = reasons(policy, first, f"drop {ends}:{kind}")
            assert said
            assert all(f"ties of the kind {kind!r} are never suggested" in one for one in said)


RULES = [{"kind": "*", "allow": ["drop", "add"], "whose": "own", "to": "anyone"}]
NODE_KINDS = ["person", "person", "Église", "club", "church"]


def village(kinds: Sequence[object] = NODE_KINDS, column: str = "kind") -> Graph:
    """Ann is a member of a church and of a club; Bob is a member of nothing, and knows Ann."""
    return from_arrays(
        np.arange(5.0)[:, None],
        np.array([[0, 0, 0], [1, 2, 3]]),
        ids=["ann", "bob", "st-marys", "chess", "st-johns"],
        attributes={column: np.array(kinds)},
        kind=np.array(["knows", "member_of", "member_of"]),
        feature_names=["income"],
    )


def changes(graph: Graph, subject: int = 0, **recourse: Any) -> tuple[set[str], set[str], int]:
    """To whom ties may be dropped and added, and how many only the deny list forbids."""
    table = action_table(policy_of(graph, groups=(), **recourse), subject, 2)
    names = [
        {*graph.ids[table.people(np.flatnonzero(table.do == do))].tolist()} - {graph.ids[subject]}
        for do in (DROP, ADD)
    ]
    return names[0], names[1], table.denied


@pytest.mark.parametrize("column", ["kind", "type", "Node Type", "node_kind"])
def test_a_tie_to_a_church_is_never_suggested(column: str) -> None:
    dropped, added, denied = changes(village(column=column), ties=RULES)
    assert dropped == {"bob", "chess"}
    assert denied == 1
    assert added == {"bob", "chess"}  # by the kind that is not there yet; neither church


def test_other_columns_must_be_named() -> None:
    world = village(column="sort")
    assert changes(world, ties=RULES)[0] == {"bob", "st-marys", "chess"}
    assert changes(world, ties=RULES, node_kind="sort")[0] == {"bob", "chess"}
    with pytest.raises(SettingsError, match=r"recourse\.node_kind: the nodes have no col"):
        changes(world, node_kind="srot")


def test_kinds_of_nodes_can_be_added_to_those_never_suggested() -> None:
    assert changes(village(), never=["club"])[0] == {"bob"}
    with pytest.raises(SettingsError, match=r"recourse\.never\[0\]: there is no kind of tie"):
        changes(village(), never=["clbu"])


def test_numbers_say_nothing_about_kinds() -> None:
    assert changes(village([0, 0, 1, 2, 1]))[0] == {"bob", "st-marys", "chess"}


def test_the_subjects_own_kind_does_not_matter() -> None:
    dropped, _, _ = changes(village(["doctor", "person", "church", "club", "church"]))
    assert dropped == {"bob", "chess"}


def test_a_change_typed_by_hand_is_told_so() -> None:
    policy = policy_of(village(), groups=(), ties=RULES)
    assert reasons(policy, 0, "drop ann-st-marys") == [
        "drop ann-st-marys:member_of: ties to nodes like st-marys are never suggested"
    ]
    assert reasons(policy, 0, "drop ann-chess") == []
    [reason] = reasons(policy, 0, "add ann-st-johns:knows")
    assert "never suggested" in reason
