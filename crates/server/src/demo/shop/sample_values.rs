//! The values of the sample data: regions with names and towns, and products.

#[derive(Debug)]
pub(in crate::demo) struct Region {
    /// The id of the tenant in accounts and rows.
    pub(in crate::demo) tenant: &'static str,
    pub(in crate::demo) code: &'static str,
    pub(in crate::demo) name: &'static str,
    pub(super) countries: &'static [Country],
    /// Names, separated by spaces.
    pub(super) first_names: &'static str,
    pub(super) last_names: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Country {
    pub(super) code: &'static str,
    pub(super) name: &'static str,
    pub(super) calling: &'static str,
    pub(super) towns: &'static [&'static str],
}

const fn country(code: &'static str, name: &'static str, calling: &'static str, towns: &'static [&'static str]) -> Country {
    Country { code, name, calling, towns }
}

pub(in crate::demo) const REGIONS: [Region; 3] = [
    Region {
        tenant: "0d9c3c5e-5f0b-4c1e-9a58-3f6a1c0e7b11",
        code: "nordic",
        name: "Nordic Homes",
        countries: &[
            country("DK", "Denmark", "45", &["Aarhus", "Copenhagen", "Odense"]),
            country("FI", "Finland", "358", &["Helsinki", "Tampere", "Turku"]),
            country("NO", "Norway", "47", &["Bergen", "Oslo", "Tromsø"]),
            country("SE", "Sweden", "46", &["Gothenburg", "Malmö", "Stockholm", "Uppsala"]),
        ],
        first_names: "Aino Astrid Björn Elin Freja Gustav Ida Jonas Kaisa Lars Maja Mikko Nils Oskar Sigrid Åse",
        last_names: "Andersen Berg Dahl Eriksson Hansen Holm Jensen Korhonen Larsen Lindqvist Mäkinen Nilsen Olsen Sørensen Virtanen Öberg",
    },
    Region {
        tenant: "4f7a2b90-8f3c-4d0b-8a51-6c2f4d1e9a22",
        code: "iberia",
        name: "Casa Iberia",
        countries: &[
            country("ES", "Spain", "34", &["Barcelona", "Bilbao", "Cádiz", "Madrid", "Sevilla", "Valencia"]),
            country("PT", "Portugal", "351", &["Braga", "Coimbra", "Lisbon", "Porto"]),
        ],
        first_names: "Adriana Álvaro Beatriz Carlos Duarte Elena Inés João Lucía Marta Miguel Nuno Pilar Rui Sofía Tomás",
        last_names: "Almeida Castro Costa Díaz Fernandes García Gomes Ibáñez López Martín Moreno Nunes Pereira Ruiz Silva Torres",
    },
    Region {
        tenant: "9b1e6d43-2a7f-4b6c-b0d4-8e5c7f2a3b33",
        code: "alpine",
        name: "Alpenkontor",
        countries: &[
            country("AT", "Austria", "43", &["Graz", "Innsbruck", "Salzburg", "Vienna"]),
            country("CH", "Switzerland", "41", &["Basel", "Bern", "Geneva", "Zürich"]),
            country("DE", "Germany", "49", &["Augsburg", "Freiburg", "Munich", "Ulm"]),
            country("IT", "Italy", "39", &["Bolzano", "Milan", "Trento", "Turin"]),
        ],
        first_names: "Anna Chiara Davide Emil Franziska Giulia Hannes Jakob Katharina Lukas Marco Miriam Paul Regula Stefan Theresa",
        last_names: "Bauer Bianchi Egger Fischer Gruber Huber Keller Meier Moretti Müller Pichler Rossi Schmid Steiner Wagner Zimmermann",
    },
];

pub(super) const LABELS: [&str; 8] = ["early bird", "gift shopper", "loyal", "newsletter", "press", "trade", "vip", "watch"];

pub(super) const CATEGORIES: [(&str, &[&str]); 6] = [
    ("bath", &["bath mat", "mirror", "soap dish", "towel", "washstand"]),
    ("kitchen", &["bowl", "carafe", "cutting board", "kettle", "knife", "teapot"]),
    ("living", &["armchair", "bookcase", "cushion", "floor lamp", "rug", "sofa", "vase"]),
    ("office", &["desk", "desk lamp", "file box", "pen tray", "swivel chair"]),
    ("outdoor", &["bench", "fire bowl", "hammock", "lantern", "planter"]),
    ("sleep", &["bed frame", "blanket", "mattress", "nightstand", "pillow"]),
];
pub(super) const STYLES: [&str; 8] = ["Arc", "Birk", "Coast", "Doric", "Elm", "Fjord", "Granite", "Loom"];

pub(super) const NOTES: [&str; 5] =
    ["call before delivery", "gift wrapping, please", "leave at the neighbour's", "second attempt", "spare part enclosed"];
