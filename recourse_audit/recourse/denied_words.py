"""The words for ties that nobody is ever advised to drop or to add, by topic and language.

A pattern is a word; `*` stands for any letters. A word without `*` at its end may take an ending
of its language, such as a plural. Umlauts may be written as one letter or as two. In the phrases,
words may be written as one or apart. `deny_list` says how a kind of tie is compared with these.
"""

from typing import Literal

Language = Literal["en", "de", "fr", "es"]
Topic = Literal["kinship", "household", "health", "counsel", "union", "faith", "origin"]

# What a word without `*` may end in.
ENDINGS: dict[Language, str] = {
    "en": "s es",
    "de": "s e n en er es in innen chen",
    "fr": "s x e es",
    "es": "s es a as o os",
}

WORDS: dict[Topic, dict[Language, str]] = {
    "kinship": {
        "en": """
            famil* kin kins kinship kinfolk kinsfolk kinsm* kinswom* kindred relative
            ancest* descendant lineage genealog* heir heiress bloodline
            parent parental parenting parenthood grandparent stepparent godparent coparent
            *mother motherhood maternal* maternity *father fatherhood paternal* paternity
            mum mom mommy mummy daddy grandma grandpa granny
            *child children *children child childcare childhood childmind* offspring
            son stepson grandson godson greatgrandson *daughter
            sibling halfsibling stepsibling *brother *brethren brotherhood *sister sisterhood
            twin aunt grandaunt greataunt auntie uncle granduncle greatuncle nephew grandnephew
            niece grandniece *cousin inlaw
            spous* husband* *husband *wife *wives wifely marri* marital* matrimon* wed wedd*
            nuptial* bride* groom widow* divorc* fiance* betroth* consort
            partner expartner boyfriend girlfriend lover romantic* romance sexual* cohabit*
            guardian guardianship foster fosterer fostering adoption adopted adoptee adopti*
            dependant dependent orphan
        """,
        "de": """
            famil* *familie *familien verwandt* *verwandt* verwandschaft* angehörig* sippe* ahnen
            ehe ehefrau* ehemann ehemänner* eheleut* ehepaar* ehepartner* ehegatt* ehelich*
            eheschließ* gatte gattin gattinnen verheirat* heirat* hochzeit* verlobt* verlobung*
            geschieden* scheidung* witwe witwer verwitwet* braut* bräutigam*
            *mutter *mütter mutterschaft* mütterlich* *vater *väter vaterschaft* väterlich*
            *eltern elternteil* elternschaft* mama papa oma opa
            *tochter *töchter *sohn *söhn* *bruder *brüder brüderlich* *schwester *schwestern
            geschwister* halbgeschwister* zwilling* enkel* urenkel* kinder* kindes* stiefkind*
            enkelkind* pflegekind* patenkind* adoptivkind* onkel tante neffe nichte cousin*
            kusin* vetter schwager* schwäger* schwieger* stief* pate patin patinnen
            patenonkel patentante
            lebensgefährt* lebenspartner* lebensgemeinschaft* partner partnerschaft*
            erbe erbin erbinnen erben erbschaft* erbengemeinschaft* nachlass* nachlaß*
            liebhaber* geliebte vormund* mündel adoptier* adoption* adoptiv* unterhaltspflicht*
        """,
        "fr": """
            famil* parent parenté parentèle mère père maman papa
            *enfant fils petitfils fille petitefille frère soeur beaufrère bellesoeur beaupère
            bellemère beauparent jumeau* jumelle* oncle tante neveu* nièce cousin*
            époux épous* mari femme conjoint* conjugal* mariage marié* fianc* concubin* pacsé
            veuf veuve divorc* orphelin* tuteur tutrice tutelle parrain marraine filleul*
            adopti* adopté* amant maternel* paternel* héritier* héritièr*
        """,
        "es": """
            familia familiares pariente parentesco
            madre madrastra padre padrastro mamá papá hijo hija hijastr* nieto nieta bisniet*
            abuel* bisabuel* hermano hermana hermanastr* gemel* mellizo tío tía sobrin* primo
            espos* marido mujer conyug* cónyuge* matrimoni* boda casamiento novio novia prometido
            pareja suegr* yerno nuera cuñad* consuegr* padrin* madrin* ahijad* viud* divorci*
            hereder* huérfan* tutela adopci* adoptiv* amante descendient* ascendient*
        """,
    },
    "household": {
        "en": """
            household* housewi* househusband* homemaker housemate roommate flatmate
            housekeeping lodger cohabit* carer caregiv* babysit* nanny
        """,
        "de": """
            *haushalt *haushalts* hausfrau* hausmann hausmänner* mitbewohn* wohngemeinschaft*
            untermieter betreuungsperson* babysitt* tagesmutter*
        """,
        "fr": "ménage foyer colocat* cohabit* aidant nounou",
        "es": "hogar conviv* concubin* cuidador niñer*",
    },
    "health": {
        "en": """
            health* medic* doctor physician* nurs* hospital hospitali* hospice clinic* patient*
            *therap* psych* psychiatr* midwi* midwifery obstetric* gynaecolog* gynecolog* surgeon*
            surger* surgical dentist* dental paramedic* pharmacy pharmacies pharmacist* oncolog*
            cancer diabet* disabil* disabled handicap* diagnos* rehab* addict* disease* illness*
            sickness hiv aids pregnan* abortion* ambulance* dialys* vaccin* prescription
        """,
        "de": """
            gesundheit* arzt *arzt *ärzt* arztpraxis arztbesuch* arzthelfer* doktor krank*
            *krankenhaus* *klinik* klinisch* patient* pfleg* altenpfleg* hebamme*
            entbindungspfleg* medizin* apothek* behinder* schwerbehindert*
            suchtberat* suchthilfe* suchtklinik* spital* heilpraktik* schwanger* *psycholog*
            *therap* geburtshelf* ambulanz* diagnos*
        """,
        "fr": """
            santé médec* médic* infirm* malad* hôpit* hospital hospitalier* clinique patient*
            *thérap* sagefemme soignant* aidesoignant* handicap* pharmac* psy psych* chirurg*
            dentiste diagnos* enceinte grossesse kiné kinésithérap*
        """,
        "es": """
            salud sanitari* médic* enfermer* enfermedad* enfermo hospital hospitalari* clínic*
            pacient* *terap* psicolog* psicólog* psiquiatr* psiquiátr* comadron* matrona
            partera discapac* minusval* farmac* farmacé* cirujan* odontolog* diagnóst*
            embaraz* doctor
        """,
    },
    "counsel": {
        "en": """
            lawyer attorney* solicitor barrister notary notaries counsel* confess* chaplain* ombuds*
        """,
        "de": """
            *anwalt *anwält* anwaltlich* anwaltskanzlei* rechtsberat* rechtsbeistand* rechtshilf*
            notar notarin notariat* beicht* seelsorg* sozialarbeiter* sozialberat*
            schuldnerberat* ombuds* verteidiger
        """,
        "fr": "avocat* notaire confess* aumôni* défenseur",
        "es": "abogad* notario notaria letrado confesor confesi* capellán* capellan* defensor",
    },
    "union": {
        "en": """
            union unionist unionis* unioniz* tradeunion* politic* activis* protest protester
            protestor picket striker suffrag*
        """,
        "de": """
            *gewerkschaft* betriebsrat* betriebsrät* personalrat* personalrät* vertrauensleut*
            politi* partei parteimitglied* parteifreund* parteibuch* aktivist* streikende
        """,
        "fr": """
            syndicat syndicats syndical syndicale syndicales syndicaux syndicalis* syndiqué*
            politi* militant* grévist*
        """,
        "es": "sindicat* sindical* polític* activist* militant* huelguist*",
    },
    "faith": {
        "en": """
            relig* interfaith church churches churchgo* churchm* churchw* mosque synagog* temple
            faith faiths faithful parish* congregation* congregant* clerg* cleric
            pastor pastoral priest* vicar rabbi rabbinical imam bishop* archbishop* monk nun
            convent monaster* sermon prayer worship* jew jewish judaism muslim* moslem* islam*
            christian christians christianity hindu* buddhis* sikh catholic* protestant* orthodox*
            evangel* baptis* mormon atheis* bible biblical quran koran torah sabbath dioces*
            mitzvah jehovah* ramadan gurdwara
        """,
        "de": """
            relig* kirche kirchen kirchen* kirchlich* kirchgänger* *kirche moschee* synagog*
            pfarr* priester* pastor pastorin glaube glauben glaubens* konfession* gottesdienst*
            geistliche bischof* bischöf* mönch nonne kloster* jude jüdin* jüdisch* muslim* islam*
            christ christen christlich* katholi* evangeli* gebet gemeindepfarr*
        """,
        "fr": """
            relig* église* paroiss* mosquée* synagog* prêtre* curé évêque* moine nonne couvent
            rabbin* imam culte foi croyant* juif juive musulman* chrétien* catholi* évangéli*
            pasteur
        """,
        "es": """
            relig* iglesia* parroqui* mezquita* sinagog* sacerdot* cura obispo* monje monja
            convento rabino imán feligr* creyent* judí* musulm* cristian* católic* evangéli*
            culto
        """,
    },
    "origin": {
        "en": """
            ethnic* ethno* race racial* interracial origin nationality nationalities citizenship*
            tribe tribal* tribesm* clan clansm* caste migrant* immigra* emigra* refugee* asylum*
            romani sinti
            diaspora* compatriot* indigen* aborigin* birthplace birthright homeland native
        """,
        "de": """
            ethni* rasse rassi* rassen* herkunft* abstamm* nationalität* staatsangehörig*
            staatsbürger* migrant* einwander* zuwander* auswander* immigra* flüchtling*
            geflüchtet* asyl* landsmann* landsleut* geburtsort* heimat volksgruppe*
            volkszugehörig*
        """,
        "fr": """
            ethni* race racial* raciaux origine nationalité* citoyenneté* tribu tribal* clan caste
            immigr* émigr* migrant* réfugi* asile* compatriot* diaspora* indigèn* autochton*
        """,
        "es": """
            etni* étnic* raza racial* origen orígenes nacionalidad* ciudadanía tribu tribal* clan
            casta inmigra* emigra* migrant* refugiad* asilo* compatriot* paisano* diáspora*
            indígena*
        """,
    },
}

# Words that together mean such a tie, though each alone does not.
PHRASES: dict[Topic, str] = {
    "kinship": """
        in law|in laws|next of kin|significant other|better half|au pair|civil union|same surname
        civil partnership|civil partnerships|registered partnership|emergency contact
        emergency contacts
        petit ami|petite amie|petits enfants|belle famille|vínculo familiar|vinculos familiares
        lazo familiar|lazos familiares|relación familiar|núcleo familiar|grupo familiar
        miembro familiar|unión de hecho
    """,
    "household": """
        lives with|living with|live together|lives together|compañero de piso|wohnt mit|lebt mit
    """,
    "health": """
        care home|general practitioner|general practitioners|sage femme|aide soignant
        aide soignante|blood donor|self help group
    """,
    "counsel": """
        law firm|legal aid|legal advice|legal adviser|legal advisor|social worker|case worker
        conseil juridique|conseiller juridique|aide juridique|assistante sociale|assistant social
        asesor jurídico|asesora jurídica|asesoría jurídica|trabajador social|trabajadora social
    """,
    "union": """
        works council|work council|works councils|shop steward|shop stewards|labour movement
        party member|party membership|partido político|comité de empresa|comité d entreprise
    """,
    "faith": "bible study|sunday school|bonne soeur",
    "origin": """
        mother tongue|native language|same country|same village|home country|home town
        place of birth|country of birth|pays de naissance|país de nacimiento|pais natal
    """,
}

# Ordinary words and phrases that would match a pattern above.
ORDINARY_WORDS = """
    familiar familiarity familiarise familiarised familiarize familiarized
    rothschild fairchild brainchild smother resister persister marriott hospitality
    stiefel muttergesellschaft tochtergesellschaft schwestergesellschaft
    mutterfirma tochterfirma schwesterfirma mutterunternehmen tochterunternehmen
    schwesterunternehmen mutterkonzern betriebsangehörige werksangehörige firmenangehörige
    syndicate staatshaushalt haushaltsgerät haushaltsgeräte
"""
ORDINARY_PHRASES = (
    "(parent|sister|daughter|mother|child) (account|bank|company|entity|firm|fund|group|record)s?",
    "(parent|sister|daughter|mother|child) (companies|entities|organi[sz]ations?|undertakings?)",
    "(business|channel|contract|contractual|delivery|distribution|industry) partners?",
    "(logistics|project|sales|supply|trade|trading) partners?",
    "partner (bank|company|companies|firm|organi[sz]ation)s?",
    "(credit|currency|customs|monetary|european|western) unions?",
    "union bank",
    "origin (account|bank|branch|destination)",
    "(compte|credit|depot|emprunt|pret)s? conjoints?",
    "relative (to|value|weight)",
    "politiques? (commerciale|de prix|tarifaire)s?",
    "financial health",
    "sante financiere",
    "salud financiera",
    "(digital twin|twin (city|cities|room|town))s?",
    "native (advertising|app)s?",
    "bonne foi",
)
