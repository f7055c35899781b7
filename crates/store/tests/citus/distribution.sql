SELECT create_reference_table('products'), create_reference_table('labels');
SELECT create_distributed_table('customers', 'id', colocate_with => 'none');
SELECT create_distributed_table('orders', 'customer_id', colocate_with => 'customers');
SELECT create_distributed_table('order_items', 'customer_id', colocate_with => 'customers');
SELECT create_distributed_table('customers_labels', 'customer_id', colocate_with => 'customers');
SELECT create_distributed_table('reviews', 'product_id', colocate_with => 'none');
SELECT create_distributed_table('favourites', 'product_id', colocate_with => 'reviews');
SELECT create_distributed_table('shipments', 'id', colocate_with => 'none');
-- Each in a group of its own, although relations join them by their distribution columns.
SELECT create_distributed_table('refunds', 'customer_id');
SELECT create_distributed_table('coupons', 'customer_id', colocate_with => 'none');
SELECT create_distributed_table('banners', NULL, colocate_with => 'none');
SELECT create_distributed_table('clubs', 'id', colocate_with => 'none');
SELECT create_distributed_table('customers_clubs', 'club_id', colocate_with => 'none');
ANALYZE;
