// The columns, filters and relations that the app shows of each resource. To show a table of your own, add it here;
// everything else follows.
//
// A column or filter with a `permission` is for accounts that hold it. The server checks that anyway: this only keeps the
// app from sending statements that would be refused. `masked` means that other accounts see the column masked.

const STATUS = ['new', 'paid', 'shipped', 'returned'];
const COUNTRIES = ['AT', 'CH', 'DE', 'DK', 'ES', 'FI', 'IT', 'NO', 'PT', 'SE'];

export const RESOURCES = {
  customers: {
    title: 'Customers',
    one: 'customer',
    address: '/api/shop/customers',
    resource: 'shop.customer',
    permission: 'shop.customer.get',
    named: 'name',
    order: 'name',
    columns: [
      { label: 'Name', field: 'name' },
      { label: 'E-mail', field: 'email', masked: 'shop.customer.pii' },
      { label: 'Status', field: 'status', kind: 'status' },
      { label: 'Country', field: 'country.name' },
      { label: 'Tenant', field: 'tenant.name' },
      { label: 'Credit', field: 'creditLimit', kind: 'money' },
      { label: 'Since', field: 'createdAt', kind: 'dayOf' },
    ],
    filters: [
      { name: 'name', label: 'Name', kind: 'text', field: 'name' },
      { name: 'email', label: 'E-mail', kind: 'text', field: 'email', permission: 'shop.customer.pii' },
      { name: 'status', label: 'Status', kind: 'choice', field: 'status', values: ['lead', 'active', 'gone'] },
      { name: 'country', label: 'Country', kind: 'choice', field: 'countryCode', values: COUNTRIES, show: 'country' },
      { name: 'since', label: 'Since', kind: 'days', field: 'createdAt' },
      { name: 'bought', label: 'Has an order of', kind: 'amounts', field: 'orders.total' },
      { name: 'label', label: 'Label', kind: 'choice', field: 'labels.name', values: ['loyal', 'press', 'trade', 'vip'], permission: 'shop.label.get' },
    ],
    details: [
      {
        title: 'Latest orders',
        relation: 'orders',
        permission: 'shop.order.get',
        shape: { order: [{ field: 'placedAt', dir: 'desc' }], limit: 3, relations: { lines: { order: [{ field: 'id', dir: 'asc' }], relations: { product: true } } } },
        columns: [
          { label: 'Order', field: 'id' },
          { label: 'Placed', field: 'placedAt', kind: 'moment' },
          { label: 'Status', field: 'status', kind: 'status' },
          { label: 'Products', each: 'lines', field: 'product.name' },
          { label: 'Total', field: 'total', kind: 'money' },
        ],
      },
      { title: 'Labels', relation: 'labels', permission: 'shop.label.get', shape: { order: [{ field: 'name', dir: 'asc' }] }, columns: [{ label: 'Label', field: 'name' }] },
    ],
  },
  orders: {
    title: 'Orders',
    one: 'order',
    address: '/api/shop/orders',
    resource: 'shop.order',
    permission: 'shop.order.get',
    edit: { permission: 'shop.order.update', label: 'Change the status', path: '/orders' },
    named: 'id',
    order: '-placedAt',
    columns: [
      { label: 'Order', field: 'id' },
      { label: 'Customer', field: 'customer.name' },
      { label: 'Status', field: 'status', kind: 'status' },
      { label: 'Placed', field: 'placedAt', kind: 'moment' },
      { label: 'Note', field: 'note' },
      { label: 'Total', field: 'total', kind: 'money' },
    ],
    filters: [
      { name: 'customer', label: 'Customer', kind: 'text', field: 'customer.name' },
      { name: 'status', label: 'Status', kind: 'choice', field: 'status', values: STATUS },
      { name: 'country', label: 'Country', kind: 'choice', field: 'customer.countryCode', values: COUNTRIES, show: 'country' },
      { name: 'total', label: 'Total', kind: 'amounts', field: 'total' },
      { name: 'placed', label: 'Placed', kind: 'days', field: 'placedAt' },
    ],
    details: [
      {
        title: 'Lines',
        relation: 'lines',
        shape: { order: [{ field: 'id', dir: 'asc' }], relations: { product: true } },
        columns: [
          { label: 'Product', field: 'product.name' },
          { label: 'Category', field: 'product.category' },
          { label: 'Quantity', field: 'quantity', kind: 'number' },
          { label: 'Price', field: 'price', kind: 'money' },
        ],
      },
      {
        title: 'Customer',
        relation: 'customer',
        shape: { relations: { country: true } },
        columns: [
          { label: 'Name', field: 'name' },
          { label: 'E-mail', field: 'email' },
          { label: 'Country', field: 'country.name' },
        ],
      },
    ],
  },
  products: {
    title: 'Products',
    one: 'product',
    address: '/api/shop/products',
    resource: 'shop.product',
    named: 'name',
    order: 'name',
    columns: [
      { label: 'Name', field: 'name' },
      { label: 'Category', field: 'category' },
      { label: 'Added', field: 'addedOn', kind: 'day' },
      { label: 'Weight, kg', field: 'weight', kind: 'number' },
      { label: 'Cost', field: 'cost', kind: 'money', masked: 'shop.product.cost' },
      { label: 'Price', field: 'price', kind: 'money' },
    ],
    filters: [
      { name: 'name', label: 'Name', kind: 'text', field: 'name' },
      { name: 'category', label: 'Category', kind: 'choice', field: 'category', values: ['bath', 'kitchen', 'living', 'office', 'outdoor', 'sleep'] },
      { name: 'price', label: 'Price', kind: 'amounts', field: 'price' },
    ],
    details: [
      {
        title: 'Sold in',
        relation: 'lines',
        permission: 'shop.order.get',
        shape: { order: [{ field: 'id', dir: 'desc' }], limit: 5, relations: { order: { relations: { customer: true } } } },
        columns: [
          { label: 'Order', field: 'order.id' },
          { label: 'Placed', field: 'order.placedAt', kind: 'moment' },
          { label: 'Customer', field: 'order.customer.name' },
          { label: 'Quantity', field: 'quantity', kind: 'number' },
        ],
      },
    ],
  },
};

/** The page that changes an order. */
export const ORDER = {
  address: '/api/shop/orders',
  permission: 'shop.order.update',
  /** Without this permission closed orders stay as they are. */
  correct: 'shop.order.correct',
  statuses: STATUS,
  facts: [
    { label: 'Customer', field: 'customer.name' },
    { label: 'Status', field: 'status', kind: 'status' },
    { label: 'Total', field: 'total', kind: 'money' },
    { label: 'Placed', field: 'placedAt', kind: 'moment' },
    { label: 'Note', field: 'note' },
    { label: 'Last change', field: 'updatedAt', kind: 'moment' },
    { label: 'Version', field: 'version' },
  ],
};

/** The groupings and the measures of the chart. */
export const REVENUE = {
  address: '/api/shop/orders',
  permission: 'shop.order.get',
  groups: {
    country: { label: 'Country', field: 'customer.countryCode', show: 'country' },
    status: { label: 'Status', field: 'status' },
    month: { label: 'Month', field: 'month', show: 'month', isTimeline: true },
    town: { label: 'Town', field: 'customer.city' },
  },
  measures: {
    revenue: { label: 'Revenue', fn: 'sum', field: 'total', kind: 'money' },
    orders: { label: 'Orders', fn: 'count', field: '*', kind: 'number' },
    average: { label: 'Average order', fn: 'avg', field: 'total', kind: 'average' },
  },
  filters: ['status', 'placed', 'country'].map((name) => RESOURCES.orders.filters.find((filter) => filter.name === name)),
};
