"""The beauty and household catalogue. Every brand and product here is invented."""

from __future__ import annotations

from records import Item

# Category, then brand | product | variants; a variant is "what it says on the pack @ price @ days it lasts".
# An empty variant is a product that comes in one form. Days are left out for what one buys once in years.
SHOP = """
# Shampoo
Quillwater | Curl Rescue Shampoo | 250 ml @ 6.49 @ 50; 400 ml @ 8.99 @ 80; Coconut, 250 ml @ 6.99 @ 50
Quillwater | Sensitive Scalp Shampoo, Fragrance Free | 250 ml @ 6.99 @ 50
Pellwick | Everyday Shampoo | Green Apple, 300 ml @ 2.99 @ 60; Coconut, 300 ml @ 2.99 @ 60; Family Size, 750 ml @ 5.49 @ 130
Tarnmoss | Solid Shampoo Bar, Plastic Free | Rosemary, 80 g @ 7.50 @ 70; Oat, 80 g @ 7.50 @ 70
Hobbenfeld | Cooling Menthol Anti-Dandruff Shampoo | 250 ml @ 5.29 @ 50; 2 x 250 ml @ 9.49 @ 100
# Conditioner
Quillwater | Curl Rescue Conditioner | 250 ml @ 6.99 @ 45; 400 ml @ 9.49 @ 72
Quillwater | Curl Rescue Overnight Mask, Coconut | 200 ml @ 9.99 @ 60
Quillwater | Sensitive Scalp Conditioner, Fragrance Free | 250 ml @ 7.29 @ 45
Pellwick | Everyday Conditioner | Green Apple, 300 ml @ 3.19 @ 55; Coconut, 300 ml @ 3.19 @ 55
Tarnmoss | Solid Conditioner Bar, Plastic Free | Rosemary, 60 g @ 8.50 @ 70; Oat, 60 g @ 8.50 @ 70
Glimmarsh | Colour Gloss Conditioner, Rose | 250 ml @ 8.49 @ 45
# Hair Styling
Quillwater | Curl Defining Cream, Coconut | 150 ml @ 8.99 @ 60; 300 ml @ 13.99 @ 110
Quillwater | Curl Refresh Spray | 200 ml @ 7.99 @ 60
Glimmarsh | Heat Protect Mist | 150 ml @ 9.49 @ 75; 250 ml @ 12.99 @ 120
Glimmarsh | Brilliance Hair Oil, Rose | 50 ml @ 14.99 @ 120
Hobbenfeld | Matte Clay, Strong Hold, Cedar | 75 ml @ 8.49 @ 80
Pellwick | Everyday Hairspray | 300 ml @ 3.49 @ 70; Extra Strong, 300 ml @ 3.69 @ 70
Tarnmoss | Flaxseed Styling Gel, Refillable Jar | 200 ml @ 9.90 @ 70
# Hair Appliances
Zephyrol | Ionic Hair Dryer 2200 W | Black @ 59.90; Rose @ 59.90
Zephyrol | Curl Diffuser Hair Dryer 1800 W | @ 74.90
Zephyrol | Compact Travel Hair Dryer 1200 W | @ 24.90
Vantisse | Ceramic Hair Straightener | Black @ 49.00; Slim, Black @ 45.00
Vantisse | Automatic Curling Iron 32 mm | @ 69.00
Vantisse | Hot Air Styling Brush | @ 54.00
Hobbenfeld | Cordless Hair Clipper, 20 Lengths | @ 39.90
Hobbenfeld | Cordless Hair Clipper, 10 Lengths | @ 27.90
# Face Care
Ostrevale | Gentle Cleansing Milk, Sensitive, Fragrance Free | 200 ml @ 9.90 @ 60; 400 ml @ 15.90 @ 120
Ostrevale | Day Cream SPF 30, Sensitive, Fragrance Free | 50 ml @ 16.90 @ 60
Ostrevale | Night Repair Serum | 30 ml @ 24.90 @ 75
Ostrevale | Mineral Sun Fluid SPF 50, Sensitive | 40 ml @ 18.90 @ 60
Lumefolk | Rose Micellar Water | 250 ml @ 6.90 @ 55; 500 ml @ 9.90 @ 110
Lumefolk | Sheet Mask, Rose | Pack of 5 @ 7.90 @ 35
Tarnmoss | Oat Face Cleansing Bar, Plastic Free | 70 g @ 6.90 @ 60
Pellwick | Everyday Face Wash, Tea Tree | 150 ml @ 3.49 @ 50
# Body Lotion
Ostrevale | Urea Body Lotion, Sensitive, Fragrance Free | 250 ml @ 8.90 @ 45; 500 ml @ 13.90 @ 90
Ostrevale | Hand Balm, Sensitive | 75 ml @ 5.90 @ 40
Dumbleby | Baby Care Lotion, Oat, Fragrance Free | 200 ml @ 5.49 @ 35; 400 ml @ 8.99 @ 70
Dumbleby | Baby Nappy Balm, Zinc | 100 ml @ 4.99 @ 40
Pellwick | Everyday Body Lotion, Coconut | 400 ml @ 3.99 @ 70
Lumefolk | Whipped Body Butter | Rose, 200 ml @ 11.90 @ 60; Fig, 200 ml @ 11.90 @ 60
Tarnmoss | Body Butter Tin, Plastic Free, Oat | 150 g @ 10.90 @ 60
# Shower and Bath
Pellwick | Everyday Shower Gel | Green Apple, 300 ml @ 1.99 @ 35; Coconut, 300 ml @ 1.99 @ 35; Family Size, 1 l @ 4.99 @ 110
Ostrevale | Shower Oil, Sensitive, Fragrance Free | 250 ml @ 7.90 @ 40; Refill Pouch, 500 ml @ 12.90 @ 80
Hobbenfeld | Cooling Menthol Shower Gel | 250 ml @ 3.99 @ 30; 3 x 250 ml @ 9.99 @ 90
Hobbenfeld | Cedar Shower Gel | 250 ml @ 3.99 @ 30
Tarnmoss | Soap Bar, Plastic Free | Rosemary, 100 g @ 4.50 @ 35; Pack of 3, 300 g @ 11.90 @ 105
Dumbleby | Baby Bath, Oat, Fragrance Free | 500 ml @ 5.99 @ 70
# Deodorant
Hobbenfeld | Cedar Deodorant Stick | 75 ml @ 4.49 @ 50; 2 x 75 ml @ 7.99 @ 100
Hobbenfeld | Cooling Menthol Deodorant Spray | 150 ml @ 3.99 @ 40
Pellwick | Everyday Roll-On Deodorant | Green Apple, 50 ml @ 1.79 @ 40; Coconut, 50 ml @ 1.79 @ 40
Ostrevale | Deodorant Cream, Sensitive, Fragrance Free | 50 ml @ 6.90 @ 60
Tarnmoss | Refillable Deodorant Stick | Starter Case @ 12.90 @ 55; Refill, Pack of 2 @ 11.90 @ 110
# Oral Care
Brightsedge | Whitening Toothpaste, Mint | 75 ml @ 2.99 @ 40; Pack of 3 x 75 ml @ 7.49 @ 120
Brightsedge | Sensitive Gums Toothpaste | 75 ml @ 3.49 @ 40
Brightsedge | Replacement Brush Heads, Soft | Pack of 4 @ 14.90 @ 180; Pack of 8 @ 25.90 @ 360
Brightsedge | Waxed Dental Floss, Mint | 50 m @ 2.29 @ 60
Pellwick | Everyday Mouthwash, Mint | 500 ml @ 2.49 @ 45; Family Size, 1 l @ 3.99 @ 90
Dumbleby | Kids Toothpaste, Strawberry | 50 ml @ 1.99 @ 40
Tarnmoss | Bamboo Toothbrush, Plastic Free | Pack of 4 @ 7.90 @ 200
# Oral Care Appliances
Brightsedge | Sonic Electric Toothbrush S3 | White @ 59.90; Black @ 59.90
Brightsedge | Sonic Electric Toothbrush S7, Pressure Sensor | @ 109.00
Brightsedge | Kids Electric Toothbrush, Timer | @ 29.90
Vantisse | Rotary Electric Toothbrush R1 | @ 34.90; Twin Pack @ 59.90
Vantisse | Cordless Water Flosser | @ 49.90; Travel Size @ 39.90
# Shaving
Hobbenfeld | Shaving Cream | Cedar, 150 ml @ 4.99 @ 60; Menthol, 150 ml @ 4.99 @ 60
Hobbenfeld | Five-Blade Razor Cartridges | Pack of 4 @ 12.90 @ 60; Pack of 8 @ 22.90 @ 120
Hobbenfeld | Aftershave Balm, Cedar | 100 ml @ 7.49 @ 75
Hobbenfeld | Beard Oil, Cedar | 30 ml @ 9.90 @ 60
Tarnmoss | Safety Razor Blades, Plastic Free | Pack of 20 @ 5.90 @ 140
Lumefolk | Bikini and Leg Shave Foam, Rose | 200 ml @ 4.49 @ 60
Vantisse | Foil Electric Shaver, Wet and Dry | @ 89.00
Vantisse | Beard Trimmer, 40 Lengths | @ 44.90
# Make-up
Lumefolk | Matte Lipstick | Brick Rose @ 11.90 @ 120; Plum @ 11.90 @ 120; Soft Nude @ 11.90 @ 120
Lumefolk | Volume Mascara | Black @ 12.90 @ 80; Waterproof, Black @ 13.90 @ 80
Lumefolk | Skin Tint Foundation, Matte | Light @ 18.90 @ 90; Medium @ 18.90 @ 90
Lumefolk | Brow Pencil, Taupe | @ 8.90 @ 75
Lumefolk | Setting Powder, Matte | 12 g @ 14.90 @ 110
Ostrevale | Mineral Concealer, Sensitive, Fragrance Free | 7 ml @ 15.90 @ 100
# Fragrance
Maison Orlay | Eau de Toilette, Rosée | 50 ml @ 39.00 @ 150; 100 ml @ 58.00 @ 300
Maison Orlay | Eau de Parfum, Fig and Smoke | 50 ml @ 62.00 @ 150
Maison Orlay | Body Mist, Rose | 150 ml @ 14.90 @ 60
Hobbenfeld | Eau de Toilette, Cedar and Pepper | 75 ml @ 29.90 @ 180
Glimmarsh | Eau de Toilette, Sea Salt | 50 ml @ 24.90 @ 150
Lumefolk | Solid Perfume Tin, Rose | 15 g @ 12.90 @ 120
# Laundry
Sudsbarrow | Bio Laundry Detergent | 40 washes @ 8.99 @ 70; 80 washes @ 15.99 @ 140
Sudsbarrow | Colour Laundry Detergent, Lemon | 40 washes @ 8.99 @ 70
Sudsbarrow | Stain Remover Spray | 500 ml @ 4.49 @ 80
Dumbleby | Baby Laundry Detergent, Sensitive, Fragrance Free | 30 washes @ 7.49 @ 40; 60 washes @ 12.99 @ 80
Dumbleby | Baby Fabric Softener, Oat | 1 l @ 3.99 @ 50
Tarnmoss | Laundry Strips, Plastic Free, Fragrance Free | 32 washes @ 8.90 @ 60; 64 washes @ 15.90 @ 120
Pellwick | Everyday Laundry Powder | 50 washes @ 7.49 @ 80
# Dishwashing
Sudsbarrow | All-in-One Dishwasher Tablets, Lemon | 30 tablets @ 6.49 @ 35; 60 tablets @ 11.49 @ 70
Sudsbarrow | Dishwasher Salt | 2 kg @ 2.49 @ 120
Sudsbarrow | Rinse Aid, Lemon | 750 ml @ 3.79 @ 120
Pellwick | Everyday Washing-Up Liquid | Lemon, 500 ml @ 1.49 @ 40; Green Apple, 500 ml @ 1.49 @ 40
Tarnmoss | Washing-Up Soap Block, Plastic Free | 300 g @ 8.90 @ 120
Tarnmoss | Dishwasher Tablets, Plastic Free, Fragrance Free | 40 tablets @ 10.90 @ 45
Pellwick | Scouring Sponges | Pack of 6 @ 1.99 @ 60
# Cleaning
Sudsbarrow | Bathroom Limescale Spray, Lemon | 750 ml @ 3.49 @ 60; Refill Pouch, 1.5 l @ 5.49 @ 120
Sudsbarrow | Kitchen Degreaser Spray, Lemon | 750 ml @ 3.49 @ 60
Sudsbarrow | Pet Odour Floor Cleaner | 1 l @ 4.99 @ 50
Sudsbarrow | Glass and Mirror Spray | 500 ml @ 2.99 @ 90
Tarnmoss | Cleaning Concentrate Refill Tabs, Plastic Free | Pack of 6 @ 8.90 @ 120
Tarnmoss | Citric Acid Powder, Plastic Free | 750 g @ 5.90 @ 100
Pellwick | Everyday All-Purpose Cleaner, Green Apple | 1 l @ 1.99 @ 55
Dumbleby | Toy and High Chair Spray, Fragrance Free | 400 ml @ 4.49 @ 50
# Kitchen Appliances
Corrick & Vane | Electric Kettle 1.7 l | Steel @ 34.90; Black @ 34.90
Corrick & Vane | Electric Kettle 1.0 l, Temperature Control | @ 49.90
Corrick & Vane | Two-Slice Toaster | Steel @ 32.90; Black @ 32.90
Corrick & Vane | Filter Coffee Maker, Glass Jug | @ 44.90
Pellwick | Compact Kettle 0.8 l | @ 16.90
Pellwick | Compact Sandwich Toaster | @ 19.90
Corrick & Vane | Steam Iron 2600 W | @ 42.90
# Floor Care
Draftwell | Bagged Cylinder Vacuum Cleaner 800 W | @ 119.00
Draftwell | Pet Hair Cordless Vacuum Cleaner 25 V | Grey @ 199.00; Red @ 199.00
Draftwell | Robot Vacuum Cleaner, Mapping | @ 249.00
Draftwell | Compact Handheld Vacuum Cleaner | @ 49.90
Draftwell | Steam Mop 1500 W | @ 89.00
Sudsbarrow | Spray Mop, Refillable Bottle | @ 24.90
Draftwell | Vacuum Cleaner Dust Bags | Pack of 5 @ 9.90 @ 150; Pack of 10 @ 17.90 @ 300
"""


def shop_items() -> dict[str, Item]:
    """The catalogue by item id, in the order of the table above."""
    items: dict[str, Item] = {}
    category = ""
    for row in SHOP.strip().splitlines():
        if row.startswith("# "):
            category = row[2:]
            continue
        brand, product, variants = (part.strip() for part in row.split("|"))
        for variant in variants.split(";"):
            item = _item(f"S{len(items) + 1:04d}", category, brand, product, variant)
            items[item.item_id] = item
    return items


def _item(item_id: str, category: str, brand: str, product: str, variant: str) -> Item:
    pack, price, *lasts = (part.strip() for part in variant.split("@"))
    number = int(item_id[1:])
    return Item(
        item_id=item_id,
        title=f"{product}, {pack}" if pack else product,
        category=category,
        extra=(("brand", brand), ("price", price)),
        line=f"{brand} {product.split(',')[0]}",
        durable=not lasts,
        lasts=int(lasts[0]) if lasts else 0,
        pull=(1.6 if brand in ("Pellwick", "Sudsbarrow") else 1.0) * (0.7 + 0.1 * (number * 7 % 9)),
    )
