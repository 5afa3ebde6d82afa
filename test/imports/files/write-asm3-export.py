#!/usr/bin/env python3
"""Writes asm3-export.csv with the export of Animal Shelter Manager itself.

Runs the function csvexport_animals of a checkout of github.com/sheltermanager/asm3 (625abaf704bea64c55e9fa492583ad32a2c8590e)
on the animals below. They stand in for its database; every line, cell and date of the file comes from its source.

    python3 write-asm3-export.py PATH_OF_ASM3 > asm3-export.csv
"""

import ast
import io
import pathlib
import sys
import time
from datetime import datetime
from types import SimpleNamespace

CHECKOUT = pathlib.Path(sys.argv[1])


def functions(path, names):
    """Returns the source of functions of a module of asm3."""
    source = (CHECKOUT / "src/asm3" / path).read_text()
    found = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name in names]
    assert len(found) == len(names), path
    return "\n".join(ast.get_source_segment(source, node) for node in found)


class Row(dict):
    """A row of its database, whose columns are members, too."""

    def __getattr__(self, name):
        return self[name.upper()]


def animal(**given):
    # The columns that an animal without them has, as asm3 stores them: NULL is None.
    names = """ACCEPTANCENUMBER SIZENAME HIDDENANIMALDETAILS POPUPWARNING NEUTEREDDATE IDENTICHIPDATE DECEASEDDATE
        ENTRYTYPENAME JURISDICTIONNAME PICKUPLOCATIONNAME PICKUPADDRESS PTSREASONNAME ACTIVEMOVEMENTDATE""".split()
    texts = """MARKINGS HEALTHPROBLEMS PTSREASON REASONFORENTRY IDENTICHIPNUMBER SHELTERLOCATIONUNIT ANIMALCOMMENTS""".split()
    numbers = """NEUTERED PUTTOSLEEP ISNOTAVAILABLEFORADOPTION NONSHELTERANIMAL ISTRANSFER ISPICKUP ACTIVEMOVEMENTTYPE
        WEBSITEIMAGECOUNT""".split()
    people = "CURRENTVET ORIGINALOWNER CURRENTOWNER".split()
    parts = """TITLE INITIALS FORENAMES SURNAME ADDRESS TOWN COUNTY POSTCODE HOMETELEPHONE WORKTELEPHONE MOBILETELEPHONE
        EMAILADDRESS POPUPWARNING COMMENTS""".split()
    row = Row({name: None for name in names} | {name: "" for name in texts} | {name: 0 for name in numbers})
    row.update({person + part: None for person in people for part in parts})
    return Row(row | given | {"BREEDNAME2": given.get("BREEDNAME2", given["BREEDNAME1"])})


def day(text):
    return datetime.strptime(text, "%Y-%m-%d")


ANIMALS = [
    animal(
        ID=1, SHELTERCODE="D2026041", ANIMALNAME="Biscuit", SEXNAME="Male", ANIMALTYPENAME="D (Dog)", WEIGHT=58.4,
        BASECOLOURNAME="Golden", BREEDNAME1="Labrador Retriever", BREEDNAME2="Beagle", DATEOFBIRTH=day("2023-04-02"),
        SHELTERLOCATIONNAME="Kennels", SHELTERLOCATIONUNIT="12", SPECIESNAME="Dog", SIZENAME="Large", NEUTERED=1,
        ANIMALCOMMENTS='Walks well on a lead, and waits for you at every "corner".\nLoves children.',
        NEUTEREDDATE=day("2026-10-30"), IDENTICHIPNUMBER="985112003456789", IDENTICHIPDATE=day("2026-10-13"),
        DATEBROUGHTIN=day("2026-10-12"), ENTRYREASONNAME="Stray", ISGOODWITHCATSNAME="Unknown", ISGOODWITHDOGSNAME="Yes",
        ISGOODWITHCHILDRENNAME="Yes", ISHOUSETRAINEDNAME="Yes", WEBSITEIMAGECOUNT=2, ORIGINALOWNERSURNAME="Animal Control",
    ),
    animal(
        ID=2, SHELTERCODE="D2026042", ANIMALNAME="Juniper", SEXNAME="Female", ANIMALTYPENAME="D (Dog)", WEIGHT=41.0,
        BASECOLOURNAME="Black", BREEDNAME1="Border Collie", DATEOFBIRTH=day("2025-01-31"), SHELTERLOCATIONNAME="Kennels",
        SPECIESNAME="Dog", SIZENAME="Medium", NEUTERED=1, ANIMALCOMMENTS="Learns a trick a day.",
        IDENTICHIPNUMBER="985112003456790", DATEBROUGHTIN=day("2026-10-20"), ENTRYREASONNAME="Surrender",
        ISGOODWITHCATSNAME="No", ISGOODWITHDOGSNAME="Yes", ISGOODWITHCHILDRENNAME="Over 5", ISHOUSETRAINEDNAME="No",
        ACTIVEMOVEMENTTYPE=1, ACTIVEMOVEMENTDATE=day("2026-11-14"), CURRENTOWNERFORENAMES="Ada",
        CURRENTOWNERSURNAME="Lindqvist", CURRENTOWNERTOWN="Springfield",
    ),
    animal(
        ID=3, SHELTERCODE="C2026017", ANIMALNAME="Pepper", SEXNAME="Female", ANIMALTYPENAME="U (Unwanted Cat)", WEIGHT=0.0,
        BASECOLOURNAME="Black", BREEDNAME1="Domestic Short Hair", DATEOFBIRTH=day("2024-05-31"), SHELTERLOCATIONNAME="Cattery",
        SPECIESNAME="Cat", SIZENAME="Small", ANIMALCOMMENTS="Likes shelves, and the person on the sofa.",
        DATEBROUGHTIN=day("2026-11-02"), ENTRYREASONNAME="Transfer from Other Shelter", ISTRANSFER=1,
        ISGOODWITHCATSNAME="Selective", ISGOODWITHDOGSNAME="Unknown", ISGOODWITHCHILDRENNAME="Unknown",
        ISHOUSETRAINEDNAME="Yes", ACTIVEMOVEMENTTYPE=2, ACTIVEMOVEMENTDATE=day("2026-11-05"), CURRENTOWNERSURNAME="Osei",
        ACCEPTANCENUMBER="L26-04",
    ),
    animal(
        ID=4, SHELTERCODE="C2026009", ANIMALNAME="Old Tom", SEXNAME="Male", ANIMALTYPENAME="S (Stray Cat)", WEIGHT=9.5,
        BASECOLOURNAME="White", BREEDNAME1="Domestic Long Hair", DATEOFBIRTH=day("2009-06-01"), SHELTERLOCATIONNAME="Cattery",
        SPECIESNAME="Cat", SIZENAME="Medium", NEUTERED=1, DATEBROUGHTIN=day("2026-09-03"), ENTRYREASONNAME="Stray",
        ISGOODWITHCATSNAME="Yes", ISGOODWITHDOGSNAME="Unknown", ISGOODWITHCHILDRENNAME="Unknown", ISHOUSETRAINEDNAME="Unknown",
        DECEASEDDATE=day("2026-09-19"), PTSREASONNAME="Sick/Injured", PTSREASON="Kidney failure", PUTTOSLEEP=1,
    ),
    animal(
        ID=5, SHELTERCODE="M2026003", ANIMALNAME="Peanut", SEXNAME="Unknown", ANIMALTYPENAME="M (Miscellaneous)", WEIGHT=2.2,
        BASECOLOURNAME="Cream", BREEDNAME1="Guinea Pig", DATEOFBIRTH=day("2026-03-15"), SHELTERLOCATIONNAME="Small animals",
        SPECIESNAME="Guinea Pig", SIZENAME="Small", DATEBROUGHTIN=day("2026-11-09"), ENTRYREASONNAME="Unable to Cope",
        ISGOODWITHCATSNAME="Unknown", ISGOODWITHDOGSNAME="Unknown", ISGOODWITHCHILDRENNAME="Yes", ISHOUSETRAINEDNAME="Unknown",
    ),
    animal(
        ID=6, SHELTERCODE="D2026050", ANIMALNAME="Shadow", SEXNAME="Male", ANIMALTYPENAME="A (Stray Dog)", WEIGHT=63.0,
        BASECOLOURNAME="Black", BREEDNAME1="German Shepherd Dog", DATEOFBIRTH=day("2021-12-24"), SHELTERLOCATIONNAME="Isolation",
        SPECIESNAME="Dog", SIZENAME="Large", DATEBROUGHTIN=day("2026-11-20"), ENTRYREASONNAME="Stray",
        POPUPWARNING="Muzzle when handling", ISNOTAVAILABLEFORADOPTION=1, ISGOODWITHCATSNAME="Unknown",
        ISGOODWITHDOGSNAME="Unknown", ISGOODWITHCHILDRENNAME="Unknown", ISHOUSETRAINEDNAME="Unknown",
    ),
]

VACCINATIONS = {
    1: [
        Row(VACCINATIONTYPE=kind, DATEREQUIRED=day(due), DATEOFVACCINATION=day(due), DATEEXPIRES=day(expires), MANUFACTURER="",
            BATCHNUMBER="", RABIESTAG=tag, COMMENTS="")
        for kind, due, expires, tag in [("Distemper", "2026-10-13", "2027-10-13", ""), ("Rabies", "2026-10-13", "2027-10-13", "R-118")]
    ],
}
TESTS = {
    3: [Row(TESTNAME="FIV", RESULTNAME="Negative", DATEREQUIRED=day("2026-11-03"), DATEOFTEST=day("2026-11-03"), COMMENTS="")],
}
COSTS = {2: [Row(COSTDATE=day("2026-10-21"), COSTTYPENAME="Microchip", COSTAMOUNT=1250, DESCRIPTION="")]}
LOGS = {1: [Row(DATE=datetime(2026, 10, 14, 9, 30), LOGTYPENAME="Weight", COMMENTS="58.4 lb, was 56")]}

cache = {}
i18n = SimpleNamespace(
    _=lambda text, l: text,
    get_display_date_format=lambda locale: "%m/%d/%Y",  # MDY, the format of its locale en
    format_time=lambda d: d.strftime("%H:%M:%S"),
)
exec("import time\n" + functions("i18n.py", ["python2display"]).replace(": datetime", "").replace(": str", ""), i18n.__dict__)
asm3 = SimpleNamespace(
    i18n=i18n,
    utils=SimpleNamespace(stringio=io.StringIO, iif=lambda c, t, f: t if c else f, cint=int, uuid_str=lambda: "key"),
    asynctask=SimpleNamespace(set_progress_max=lambda *_: None, get_cancel=lambda *_: False, increment_progress_value=lambda *_: None),
    additional=SimpleNamespace(get_field_definitions=lambda _: [], get_additional_fields=lambda *_: []),
    animal=SimpleNamespace(get_animal=lambda _, i: next(a for a in ANIMALS if a.id == i), get_costs=lambda _, i: COSTS.get(i, [])),
    medical=SimpleNamespace(
        get_vaccinations=lambda _, i: VACCINATIONS.get(i, []), get_tests=lambda _, i: TESTS.get(i, []),
        get_regimens=lambda *_: [], get_regimens_treatments=lambda *_: [],
    ),
    log=SimpleNamespace(ANIMAL=0, get_logs=lambda _, kind, i: LOGS.get(i, [])),
    cachedisk=SimpleNamespace(put=lambda key, db, value, ttl: cache.update({key: value})),
    media=SimpleNamespace(ANIMAL=0, get_media=lambda *_: []),
)
scope = {"asm3": asm3, "SERVICE_URL": "https://service.sheltermanager.com/asmservice", "Database": object, "Dict": dict, "time": time}
exec(functions("csvimport.py", ["csvexport_animals"]), scope)
dbo = SimpleNamespace(locale="en", name=lambda: "riverside", query=lambda _: [Row(ID=a.id) for a in ANIMALS])
scope["csvexport_animals"](dbo, "all")
sys.stdout.write(cache["key"])
