/* properties.c -- the names of Unicode properties in the standards of regular
 * expressions.
 *
 * PCRE2 knows most of them, but is not strict: it ignores case, blanks and
 * underscores, and accepts a script's name alone.  A standard accepts only the
 * names of PropertyAliases.txt and PropertyValueAliases.txt, which are listed
 * here.  They are those of Unicode 14.  Names of later versions can be added
 * when a later PCRE2 is required.
 */
#include <string.h>

#include "lang/regex/pattern.h"

struct names {
    const char *name, *pcre;
};

/* The long names of general categories. */
static const struct names categories[] = {
    {"Cased_Letter", "L&"},
    {"Close_Punctuation", "Pe"},
    {"Combining_Mark", "M"},
    {"Connector_Punctuation", "Pc"},
    {"Control", "Cc"},
    {"Currency_Symbol", "Sc"},
    {"Dash_Punctuation", "Pd"},
    {"Decimal_Number", "Nd"},
    {"Enclosing_Mark", "Me"},
    {"Final_Punctuation", "Pf"},
    {"Format", "Cf"},
    {"Initial_Punctuation", "Pi"},
    {"LC", "L&"},
    {"Letter", "L"},
    {"Letter_Number", "Nl"},
    {"Line_Separator", "Zl"},
    {"Lowercase_Letter", "Ll"},
    {"Mark", "M"},
    {"Math_Symbol", "Sm"},
    {"Modifier_Letter", "Lm"},
    {"Modifier_Symbol", "Sk"},
    {"Nonspacing_Mark", "Mn"},
    {"Number", "N"},
    {"Open_Punctuation", "Ps"},
    {"Other", "C"},
    {"Other_Letter", "Lo"},
    {"Other_Number", "No"},
    {"Other_Punctuation", "Po"},
    {"Other_Symbol", "So"},
    {"Paragraph_Separator", "Zp"},
    {"Private_Use", "Co"},
    {"Punctuation", "P"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Spacing_Mark", "Mc"},
    {"Surrogate", "Cs"},
    {"Symbol", "S"},
    {"Titlecase_Letter", "Lt"},
    {"Unassigned", "Cn"},
    {"Uppercase_Letter", "Lu"},
    {"digit", "Nd"},
    {"punct", "P"},
};

/* The long and the short names of scripts. */
static const struct names scripts[] = {
    {"Adlam", "Adlm"},
    {"Ahom", "Ahom"},
    {"Anatolian_Hieroglyphs", "Hluw"},
    {"Arabic", "Arab"},
    {"Armenian", "Armn"},
    {"Avestan", "Avst"},
    {"Balinese", "Bali"},
    {"Bamum", "Bamu"},
    {"Bassa_Vah", "Bass"},
    {"Batak", "Batk"},
    {"Bengali", "Beng"},
    {"Bhaiksuki", "Bhks"},
    {"Bopomofo", "Bopo"},
    {"Brahmi", "Brah"},
    {"Braille", "Brai"},
    {"Buginese", "Bugi"},
    {"Buhid", "Buhd"},
    {"Canadian_Aboriginal", "Cans"},
    {"Carian", "Cari"},
    {"Caucasian_Albanian", "Aghb"},
    {"Chakma", "Cakm"},
    {"Cham", "Cham"},
    {"Cherokee", "Cher"},
    {"Chorasmian", "Chrs"},
    {"Common", "Zyyy"},
    {"Coptic", "Copt"},
    {"Coptic", "Qaac"},
    {"Cuneiform", "Xsux"},
    {"Cypriot", "Cprt"},
    {"Cypro_Minoan", "Cpmn"},
    {"Cyrillic", "Cyrl"},
    {"Deseret", "Dsrt"},
    {"Devanagari", "Deva"},
    {"Dives_Akuru", "Diak"},
    {"Dogra", "Dogr"},
    {"Duployan", "Dupl"},
    {"Egyptian_Hieroglyphs", "Egyp"},
    {"Elbasan", "Elba"},
    {"Elymaic", "Elym"},
    {"Ethiopic", "Ethi"},
    {"Georgian", "Geor"},
    {"Glagolitic", "Glag"},
    {"Gothic", "Goth"},
    {"Grantha", "Gran"},
    {"Greek", "Grek"},
    {"Gujarati", "Gujr"},
    {"Gunjala_Gondi", "Gong"},
    {"Gurmukhi", "Guru"},
    {"Han", "Hani"},
    {"Hangul", "Hang"},
    {"Hanifi_Rohingya", "Rohg"},
    {"Hanunoo", "Hano"},
    {"Hatran", "Hatr"},
    {"Hebrew", "Hebr"},
    {"Hiragana", "Hira"},
    {"Imperial_Aramaic", "Armi"},
    {"Inherited", "Zinh"},
    {"Inherited", "Qaai"},
    {"Inscriptional_Pahlavi", "Phli"},
    {"Inscriptional_Parthian", "Prti"},
    {"Javanese", "Java"},
    {"Kaithi", "Kthi"},
    {"Kannada", "Knda"},
    {"Katakana", "Kana"},
    {"Kayah_Li", "Kali"},
    {"Kharoshthi", "Khar"},
    {"Khitan_Small_Script", "Kits"},
    {"Khmer", "Khmr"},
    {"Khojki", "Khoj"},
    {"Khudawadi", "Sind"},
    {"Lao", "Laoo"},
    {"Latin", "Latn"},
    {"Lepcha", "Lepc"},
    {"Limbu", "Limb"},
    {"Linear_A", "Lina"},
    {"Linear_B", "Linb"},
    {"Lisu", "Lisu"},
    {"Lycian", "Lyci"},
    {"Lydian", "Lydi"},
    {"Mahajani", "Mahj"},
    {"Makasar", "Maka"},
    {"Malayalam", "Mlym"},
    {"Mandaic", "Mand"},
    {"Manichaean", "Mani"},
    {"Marchen", "Marc"},
    {"Masaram_Gondi", "Gonm"},
    {"Medefaidrin", "Medf"},
    {"Meetei_Mayek", "Mtei"},
    {"Mende_Kikakui", "Mend"},
    {"Meroitic_Cursive", "Merc"},
    {"Meroitic_Hieroglyphs", "Mero"},
    {"Miao", "Plrd"},
    {"Modi", "Modi"},
    {"Mongolian", "Mong"},
    {"Mro", "Mroo"},
    {"Multani", "Mult"},
    {"Myanmar", "Mymr"},
    {"Nabataean", "Nbat"},
    {"Nandinagari", "Nand"},
    {"New_Tai_Lue", "Talu"},
    {"Newa", "Newa"},
    {"Nko", "Nkoo"},
    {"Nushu", "Nshu"},
    {"Nyiakeng_Puachue_Hmong", "Hmnp"},
    {"Ogham", "Ogam"},
    {"Ol_Chiki", "Olck"},
    {"Old_Hungarian", "Hung"},
    {"Old_Italic", "Ital"},
    {"Old_North_Arabian", "Narb"},
    {"Old_Permic", "Perm"},
    {"Old_Persian", "Xpeo"},
    {"Old_Sogdian", "Sogo"},
    {"Old_South_Arabian", "Sarb"},
    {"Old_Turkic", "Orkh"},
    {"Old_Uyghur", "Ougr"},
    {"Oriya", "Orya"},
    {"Osage", "Osge"},
    {"Osmanya", "Osma"},
    {"Pahawh_Hmong", "Hmng"},
    {"Palmyrene", "Palm"},
    {"Pau_Cin_Hau", "Pauc"},
    {"Phags_Pa", "Phag"},
    {"Phoenician", "Phnx"},
    {"Psalter_Pahlavi", "Phlp"},
    {"Rejang", "Rjng"},
    {"Runic", "Runr"},
    {"Samaritan", "Samr"},
    {"Saurashtra", "Saur"},
    {"Sharada", "Shrd"},
    {"Shavian", "Shaw"},
    {"Siddham", "Sidd"},
    {"SignWriting", "Sgnw"},
    {"Sinhala", "Sinh"},
    {"Sogdian", "Sogd"},
    {"Sora_Sompeng", "Sora"},
    {"Soyombo", "Soyo"},
    {"Sundanese", "Sund"},
    {"Syloti_Nagri", "Sylo"},
    {"Syriac", "Syrc"},
    {"Tagalog", "Tglg"},
    {"Tagbanwa", "Tagb"},
    {"Tai_Le", "Tale"},
    {"Tai_Tham", "Lana"},
    {"Tai_Viet", "Tavt"},
    {"Takri", "Takr"},
    {"Tamil", "Taml"},
    {"Tangsa", "Tnsa"},
    {"Tangut", "Tang"},
    {"Telugu", "Telu"},
    {"Thaana", "Thaa"},
    {"Thai", "Thai"},
    {"Tibetan", "Tibt"},
    {"Tifinagh", "Tfng"},
    {"Tirhuta", "Tirh"},
    {"Toto", "Toto"},
    {"Ugaritic", "Ugar"},
    {"Vai", "Vaii"},
    {"Vithkuqi", "Vith"},
    {"Wancho", "Wcho"},
    {"Warang_Citi", "Wara"},
    {"Yezidi", "Yezi"},
    {"Yi", "Yiii"},
    {"Zanabazar_Square", "Zanb"},
};

/* The binary properties in ECMA-262's list, except
 * Changes_When_NFKC_Casefolded, which PCRE2 does not know, and Assigned, the
 * inverse of Cn. */
static const struct names binaries[] = {
    {"ASCII", "ASCII"},
    {"ASCII_Hex_Digit", "AHex"},
    {"AHex", "AHex"},
    {"Alphabetic", "Alpha"},
    {"Alpha", "Alpha"},
    {"Any", "Any"},
    {"Bidi_Control", "Bidi_C"},
    {"Bidi_C", "Bidi_C"},
    {"Bidi_Mirrored", "Bidi_M"},
    {"Bidi_M", "Bidi_M"},
    {"Case_Ignorable", "CI"},
    {"CI", "CI"},
    {"Cased", "Cased"},
    {"Changes_When_Casefolded", "CWCF"},
    {"CWCF", "CWCF"},
    {"Changes_When_Casemapped", "CWCM"},
    {"CWCM", "CWCM"},
    {"Changes_When_Lowercased", "CWL"},
    {"CWL", "CWL"},
    {"Changes_When_Titlecased", "CWT"},
    {"CWT", "CWT"},
    {"Changes_When_Uppercased", "CWU"},
    {"CWU", "CWU"},
    {"Dash", "Dash"},
    {"Default_Ignorable_Code_Point", "DI"},
    {"DI", "DI"},
    {"Deprecated", "Dep"},
    {"Dep", "Dep"},
    {"Diacritic", "Dia"},
    {"Dia", "Dia"},
    {"Emoji", "Emoji"},
    {"Emoji_Component", "EComp"},
    {"EComp", "EComp"},
    {"Emoji_Modifier", "EMod"},
    {"EMod", "EMod"},
    {"Emoji_Modifier_Base", "EBase"},
    {"EBase", "EBase"},
    {"Emoji_Presentation", "EPres"},
    {"EPres", "EPres"},
    {"Extended_Pictographic", "ExtPict"},
    {"ExtPict", "ExtPict"},
    {"Extender", "Ext"},
    {"Ext", "Ext"},
    {"Grapheme_Base", "Gr_Base"},
    {"Gr_Base", "Gr_Base"},
    {"Grapheme_Extend", "Gr_Ext"},
    {"Gr_Ext", "Gr_Ext"},
    {"Hex_Digit", "Hex"},
    {"Hex", "Hex"},
    {"IDS_Binary_Operator", "IDSB"},
    {"IDSB", "IDSB"},
    {"IDS_Trinary_Operator", "IDST"},
    {"IDST", "IDST"},
    {"ID_Continue", "IDC"},
    {"IDC", "IDC"},
    {"ID_Start", "IDS"},
    {"IDS", "IDS"},
    {"Ideographic", "Ideo"},
    {"Ideo", "Ideo"},
    {"Join_Control", "Join_C"},
    {"Join_C", "Join_C"},
    {"Logical_Order_Exception", "LOE"},
    {"LOE", "LOE"},
    {"Lowercase", "Lower"},
    {"Lower", "Lower"},
    {"Math", "Math"},
    {"Noncharacter_Code_Point", "NChar"},
    {"NChar", "NChar"},
    {"Pattern_Syntax", "Pat_Syn"},
    {"Pat_Syn", "Pat_Syn"},
    {"Pattern_White_Space", "Pat_WS"},
    {"Pat_WS", "Pat_WS"},
    {"Quotation_Mark", "QMark"},
    {"QMark", "QMark"},
    {"Radical", "Radical"},
    {"Regional_Indicator", "RI"},
    {"RI", "RI"},
    {"Sentence_Terminal", "STerm"},
    {"STerm", "STerm"},
    {"Soft_Dotted", "SD"},
    {"SD", "SD"},
    {"Terminal_Punctuation", "Term"},
    {"Term", "Term"},
    {"Unified_Ideograph", "UIdeo"},
    {"UIdeo", "UIdeo"},
    {"Uppercase", "Upper"},
    {"Upper", "Upper"},
    {"Variation_Selector", "VS"},
    {"VS", "VS"},
    {"White_Space", "WSpace"},
    {"space", "WSpace"},
    {"XID_Continue", "XIDC"},
    {"XIDC", "XIDC"},
    {"XID_Start", "XIDS"},
    {"XIDS", "XIDS"},
};

static bool equals_property_name(const char *a, const char *b, size_t n)
{
    return strlen(a) == n && memcmp(a, b, n) == 0;
}

static const char *find(const struct names *list, size_t n_list,
                        const char *name, size_t n)
{
    for (size_t i = 0; i < n_list; i++)
        if (equals_property_name(list[i].name, name, n))
            return list[i].pcre;
    return NULL;
}

#define FIND(list, name, n) find(list, sizeof list / sizeof list[0], name, n)

/* The short names are those of PCRE2. */
static const char *find_short_category(const char *name, size_t n)
{
    static const char *const all[] = {
        "C",  "Cc", "Cf", "Cn", "Co", "Cs", "L",  "Ll", "Lm", "Lo",
        "Lt", "Lu", "M",  "Mc", "Me", "Mn", "N",  "Nd", "Nl", "No",
        "P",  "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S",  "Sc",
        "Sk", "Sm", "So", "Z",  "Zl", "Zp", "Zs"};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (equals_property_name(all[i], name, n))
            return all[i];
    return NULL;
}

const char *mortise_property_find_category(const char *name, size_t n,
                                           bool long_names)
{
    const char *found = find_short_category(name, n);

    return found != NULL || !long_names ? found : FIND(categories, name, n);
}

bool mortise_property_is_script(const char *name, size_t n, bool short_names)
{
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++)
        if (equals_property_name(scripts[i].name, name, n) ||
            (short_names && equals_property_name(scripts[i].pcre, name, n)))
            return true;
    return false;
}

const char *mortise_property_find_binary(const char *name, size_t n)
{
    return FIND(binaries, name, n);
}

/* In RE2, C does not include Cn, and scripts have only their long names. */
bool mortise_property_is_in_re2(const char *kind, const char *name, size_t n)
{
    static const char *const lacks[] = {"C", "Cn", "Cs"};

    if (*kind != '\0')
        return strcmp(kind, "sc:") == 0 &&
               mortise_property_is_script(name, n, false);
    for (size_t i = 0; i < sizeof lacks / sizeof lacks[0]; i++)
        if (equals_property_name(lacks[i], name, n))
            return false;
    return equals_property_name("Any", name, n) ||
           find_short_category(name, n) != NULL;
}
