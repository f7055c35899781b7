CREATE INDEX customers_of_tenant ON customers (tenant_id);
CREATE INDEX customers_of_country ON customers (country_code);
CREATE INDEX customers_of_label ON customers_labels (label_id);
CREATE INDEX orders_of_customer ON orders (customer_id);
CREATE INDEX orders_by_time ON orders (placed_at);
CREATE INDEX lines_of_order ON order_lines (order_id);
CREATE INDEX lines_of_product ON order_lines (product_id);
